// Which folder may include which: the real tree against tools/layers.txt, and the checker against
// made-up trees that break each rule.
#include "house/layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "house/root.h"
#include "support/files.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

std::string lines_of(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += sentence + "\n";
  return text;
}

SourceTree read_tree() {
  const std::set<std::string> code = {".h", ".cpp", ".hpp", ".cc", ".c", ".inc", ".inl"};
  SourceTree tree;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "src/vig")) {
    if (!entry.is_regular_file() || !code.contains(entry.path().extension())) continue;
    const std::string path = entry.path().lexically_relative(kRoot / "src/vig").generic_string();
    tree[path] = read_file(entry.path());
  }
  return tree;
}

TEST(Layers, TheTreeKeepsToTheTable) {
  const SourceTree tree = read_tree();
  EXPECT_GE(tree.size(), 100u) << "found next to nothing to check";
  EXPECT_EQ(lines_of(check_layers(parse_layers(read_file(kRoot / "tools/layers.txt")), tree)), "");
}

TEST(Layers, EveryNameInTheTableIsAFolderOfTheTable) {
  const Layers layers = parse_layers(read_file(kRoot / "tools/layers.txt"));
  std::set<std::string> folders;
  for (const FolderRule& rule : layers.folders) {
    EXPECT_TRUE(folders.insert(rule.folder).second) << rule.folder << " has two rows";
  }
  for (const FolderRule& rule : layers.folders) {
    for (const std::string& name : rule.own) {
      const bool header = name.ends_with(".h");
      EXPECT_TRUE(folders.contains(header ? name.substr(0, name.rfind('/')) : name)) << name;
    }
  }
  EXPECT_FALSE(layers.public_headers.empty());
  EXPECT_FALSE(layers.hidden.empty());
  EXPECT_FALSE(layers.heavy.empty());
}

// What is installed: these headers, and the one of the C interface.
TEST(Layers, PublicHeadersAreFew) {
  const Layers layers = parse_layers(read_file(kRoot / "tools/layers.txt"));
  EXPECT_LE(layers.public_headers.size() + 1, 20u);
  EXPECT_TRUE(std::ranges::is_sorted(layers.public_headers));
  for (const std::string& header : layers.public_headers) {
    EXPECT_TRUE(fs::is_regular_file(kRoot / "src/vig" / header)) << header;
  }
  for (const char* start : {"packed", "packing", "session", "hwy"}) {
    const auto hides = [&](const HiddenName& name) {
      return name.start == start && name.excused.empty();
    };
    EXPECT_TRUE(std::ranges::any_of(layers.hidden, hides)) << start;
  }
}

struct Case {
  std::string name;
  std::string path;
  std::string source;
  std::string broken;  // the sentence, or nothing
};

class LayersChecker : public ::testing::TestWithParam<Case> {};

Layers made_up_layers() {
  return parse_layers(R"(
[folders]
*            |             | fmt/
base         |             | simd/memory.h
graph        | base        |
weights      | graph/param.h base |
engine       | graph base  |
engine/vendor | engine base | vendor
shell        | engine base | # a remark
[heavy]
huge/ | shell/parse.cpp
[public]
base/a.h
base/buffer.h
engine/session.h
[hidden]
simd   | base/buffer.h
vendor |
)");
}

TEST_P(LayersChecker, FindsWhatIsBroken) {
  const Case& c = GetParam();
  const std::string expected = c.broken.empty() ? "" : c.broken + "\n";
  EXPECT_EQ(lines_of(check_layers(made_up_layers(), {{c.path, c.source}})), expected);
}

// shell may include engine, but not graph, which engine's header brings along.
TEST(LayersReach, FollowsChainsOfHeaders) {
  SourceTree tree = {{"base/a.h", ""},
                     {"graph/param.h", "#include \"vig/base/a.h\"\n"},
                     {"graph/builder.h", "#include \"vig/graph/param.h\"\n"},
                     {"engine/inner.h", "#include \"vig/graph/builder.h\"\n"},
                     {"engine/outer.h", "#include \"vig/engine/inner.h\"\n"},
                     {"engine/own.h", "#include \"vig/base/a.h\"\n"},
                     {"shell/good.cpp", "#include \"vig/engine/own.h\"\n"},
                     {"weights/good.cpp", "#include \"vig/graph/param.h\"\n"}};
  EXPECT_EQ(lines_of(check_layers(made_up_layers(), tree)), "");
  tree["shell/bad.cpp"] = "#include \"vig/engine/outer.h\"\n";
  EXPECT_EQ(lines_of(check_layers(made_up_layers(), tree)),
            "shell/bad.cpp reaches graph, which shell may not: engine/outer.h -> engine/inner.h -> "
            "graph/builder.h\n");
  tree.erase("shell/bad.cpp");
  tree["graph/param.h"] = "#include \"vig/graph/hidden.h\"\n";
  tree["graph/hidden.h"] = "#include \"vig/graph/param.h\"\n";  // a circle ends, too
  EXPECT_EQ(lines_of(check_layers(made_up_layers(), tree)),
            "weights/good.cpp reaches graph, which weights may not: graph/param.h -> "
            "graph/hidden.h\n");
}

TEST(LayersPublic, HeadersIncludePublicOnesAlone) {
  SourceTree tree = {{"engine/session.h", "#include \"vig/base/a.h\"\n"},
                     {"base/a.h", "#include <vector>\n"},
                     {"engine/plan.h", "#include \"vig/engine/session.h\"\nvendor_t* v;\n"}};
  EXPECT_EQ(lines_of(check_layers(made_up_layers(), tree)), "");
  tree["engine/session.h"] = "#include \"vig/engine/plan.h\"\n";
  EXPECT_EQ(lines_of(check_layers(made_up_layers(), tree)),
            "engine/session.h is public but includes vig/engine/plan.h, which is not\n");
}

INSTANTIATE_TEST_SUITE_P(
    Cases, LayersChecker,
    ::testing::Values(
        Case{"Downwards", "graph/a.cpp", "#include \"vig/base/b.h\"\n", ""},
        Case{"Upwards", "base/a.cpp", "int x;\n#include \"vig/graph/b.h\"\n",
             "base/a.cpp includes vig/graph/b.h, which base may not"},
        Case{"UpwardsWithAngles", "base/a.cpp", "  #  include <vig/graph/b.h>",
             "base/a.cpp includes vig/graph/b.h, which base may not"},
        Case{"Sideways", "weights/a.h", "#include \"vig/engine/b.h\"",
             "weights/a.h includes vig/engine/b.h, which weights may not"},
        Case{"OneHeaderOfAFolder", "weights/a.h", "#include \"vig/graph/param.h\"", ""},
        Case{"AnotherHeaderOfIt", "weights/a.h", "#include \"vig/graph/builder.h\"",
             "weights/a.h includes vig/graph/builder.h, which weights may not"},
        Case{"OwnFolder", "graph/a.cpp", "#include \"vig/graph/a.h\"\n#include <vector>", ""},
        Case{"OwnInnerFolder", "engine/a.cpp", "#include \"vig/engine/vendor/b.h\"", ""},
        Case{"ForeignInnerFolder", "shell/a.cpp", "#include \"vig/engine/vendor/b.h\"",
             "shell/a.cpp includes vig/engine/vendor/b.h, which shell may not"},
        Case{"ForeignWhereAllowed", "engine/vendor/a.cpp", "#include <vendor.hpp>", ""},
        Case{"ForeignElsewhere", "engine/a.cpp", "#include <vendor.hpp>",
             "engine/a.cpp includes <vendor.hpp>, which engine may not"},
        Case{"ForeignEverywhere", "shell/a.cpp", "#include <fmt/format.h>", ""},
        Case{"HeavyWhereAllowed", "shell/parse.cpp", "#include <huge/all.hpp>", ""},
        Case{"HeavyBesideIt", "shell/parse.h", "#include <huge/all.hpp>",
             "shell/parse.h includes <huge/all.hpp>, which it may not"},
        Case{"Intrinsics", "engine/a.cpp", "#include <immintrin.h>",
             "engine/a.cpp includes <immintrin.h>, which engine may not"},
        Case{"NoFolderOnAnInclude", "graph/a.cpp", "#include \"a.h\"",
             "graph/a.cpp includes a.h without its folder"},
        Case{"UnknownTarget", "graph/a.cpp", "#include \"vig/misc/a.h\"",
             "graph/a.cpp includes vig/misc/a.h, which graph may not"},
        Case{"UnknownFolder", "utils/a.h", "", "utils/a.h is in no folder of the table"},
        Case{"NoFolder", "a.h", "", "a.h is in no folder of the table"},
        Case{"OtherEnding", "graph/a.cc", "",
             "graph/a.cc is neither a header (.h) nor a source (.cpp)"},
        Case{"InAComment", "base/a.cpp",
             "// x\n// #include \"vig/graph/b.h\"\n/*\n#include \"vig/graph/b.h\"\n*/", ""},
        Case{"AfterASlashInAString", "base/a.cpp",
             "auto s = \"/*\"; char q = '\"';\n#include \"vig/graph/b.h\"\n",
             "base/a.cpp includes vig/graph/b.h, which base may not"},
        Case{"HiddenInPublic", "engine/session.h", "simd::Vec v;",
             "engine/session.h is public but names simd"},
        Case{"HiddenMacroInPublic", "base/a.h", "SIMD_INLINE void f();",
             "base/a.h is public but names SIMD_INLINE"},
        Case{"HiddenInPublicComment", "base/a.h", "// as simd likes it\n", ""},
        Case{"HiddenInPrivate", "engine/plan.h", "simd::Vec v;", ""},
        Case{"HiddenInExcused", "base/buffer.h", "#include <simd/memory.h>\nsimd::Ptr p;", ""},
        Case{"OtherHiddenInExcused", "base/buffer.h", "vendor_t* v;",
             "base/buffer.h is public but names vendor_t"}),
    [](const auto& instance) { return instance.param.name; });

TEST(LayersTable, RefusesLinesItDoesNotKnow) {
  EXPECT_THROW(parse_layers("[folders]\nbase | std\n"), std::runtime_error);
  EXPECT_THROW(parse_layers("base | | \n"), std::runtime_error);
  EXPECT_THROW(parse_layers("[public]\na.h b.h\n"), std::runtime_error);
}

}  // namespace
}  // namespace vig::test
