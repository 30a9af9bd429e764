// What `cmake --install` puts where, part by part, and the Debian packages that cpack makes of the
// parts.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using Files = std::set<std::string>;

Files files_below(const fs::path& folder) {
  Files files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) files.insert(entry.path().lexically_relative(folder).string());
  }
  return files;
}

// Those that are built, as cpack knows them.
std::vector<std::string> components() {
  const std::string config = read_file(fs::path(kBuildDir) / "CPackConfig.cmake");
  std::smatch match;
  EXPECT_TRUE(
      std::regex_search(config, match, std::regex("set\\(CPACK_COMPONENTS_ALL \"([^\"]*)\"\\)")));
  std::vector<std::string> names;
  std::istringstream list(match[1]);
  for (std::string name; std::getline(list, name, ';');) names.push_back(name);
  return names;
}

Files install(const fs::path& prefix, const std::string& component) {
  std::vector<std::string> command = {kCMake, "--install", kBuildDir, "--prefix", prefix};
  if (!component.empty()) command.insert(command.end(), {"--component", component});
  const RunResult result = run_program(command);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  return files_below(prefix);
}

bool any(const Files& files, const std::string& pattern) {
  return std::any_of(files.begin(), files.end(), [&](const std::string& file) {
    return std::regex_match(file, std::regex(pattern));
  });
}

TEST(Components, EveryFileBelongsToOne) {
  const TempDir folder;
  const Files all = install(folder / "all", "");
  Files seen;
  std::map<std::string, Files> parts;
  for (const std::string& component : components()) {
    parts[component] = install(folder / component, component);
    EXPECT_FALSE(parts[component].empty()) << component;
    EXPECT_TRUE(any(parts[component], "share/doc/[^/]*/copyright")) << component;
    for (const std::string& file : parts[component]) {
      EXPECT_TRUE(seen.insert(file).second) << file << " is in two parts";
    }
  }
  EXPECT_EQ(seen, all);
  for (const char* file :
       {"bin/vig", "bin/vig-study", "share/man/man1/vig-study[.]1([.]gz)?",
        "share/vig/default[.]safetensors", "share/man/man1/vig[.]1([.]gz)?",
        "share/man/man1/vig-classify[.]1([.]gz)?", "share/bash-completion/completions/vig",
        "share/zsh/vendor-completions/_vig", "share/fish/vendor_completions[.]d/vig[.]fish"}) {
    EXPECT_TRUE(any(parts["program"], file)) << file;
  }
  EXPECT_FALSE(any(parts["program"], "(include|lib)/.*"));
  EXPECT_FALSE(any(parts["program"], ".*vig-(train|onnx|receptive-field).*"));
  if (parts.contains("training")) {
    EXPECT_TRUE(any(parts["training"], "bin/vig-train"));
    EXPECT_TRUE(any(parts["training"], "share/man/man1/vig-receptive-field[.]1([.]gz)?"));
  }
  if (parts.contains("library")) {
    EXPECT_TRUE(any(parts["library"], "lib/.*libvig[.]so[.]0|lib/libvig[.]so[.]0"));
    EXPECT_FALSE(any(parts["library"], ".*[.](so|a|h)"));
    for (const char* file : {"lib/(.*/)?libvig[.]so", "lib/(.*/)?libvig_base[.]a",
                             "include/vig/vig[.]h", "include/vig/pipeline/classifier[.]h",
                             "lib/(.*/)?vig[.]pc", "lib/(.*/)?vigConfig[.]cmake"}) {
      EXPECT_TRUE(any(parts["development"], file)) << file;
    }
  }
  if (parts.contains("python")) {
    for (const char* file :
         {"_engine[.].*[.]so", "__init__[.]py", "py[.]typed", "default[.]safetensors"}) {
      EXPECT_TRUE(any(parts["python"], std::string("lib/python3/dist-packages/vig/") + file))
          << file;
    }
    EXPECT_TRUE(any(parts["python"], "lib/python3/dist-packages/vig-[0-9.]+[.]dist-info/METADATA"));
    // A link to the programs' model.
    EXPECT_TRUE(fs::exists(folder / "all/lib/python3/dist-packages/vig/default.safetensors"));
  }
}

class DebianPackages : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run_program({"dpkg-shlibdeps", "--version"}).exit_code != 0)
      GTEST_SKIP() << "needs dpkg-dev";
  }
  // Its file, made of a part.
  std::string make(const std::string& component) {
    const fs::path out = folder_ / component;
    const RunResult result =
        run_program({fs::path(kCMake).replace_filename("cpack"), "--config",
                     fs::path(kBuildDir) / "CPackConfig.cmake", "-B", out / "work", "-D",
                     "CPACK_COMPONENTS_ALL=" + component, "-D",
                     "CPACK_OUTPUT_FILE_PREFIX=" + (out / "made").string()},
                    {.time_limit = 110});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    const Files made = files_below(out / "made");
    EXPECT_EQ(made.size(), 1u);
    return made.empty() ? "" : out / "made" / *made.begin();
  }
  std::string field(const std::string& package, const std::string& name) {
    return run_program({"dpkg-deb", "-f", package, name}).out;
  }
  TempDir folder_;
};

TEST_F(DebianPackages, TheProgramSaysWhatItNeeds) {
  const std::string package = make("program");
  EXPECT_EQ(field(package, "Package"), "vig\n");
  EXPECT_EQ(field(package, "Section"), "science\n");
  EXPECT_EQ(field(package, "Recommends"), "libheif1\n");
  EXPECT_NE(field(package, "Maintainer").find("ViG in C++"), std::string::npos);
  EXPECT_TRUE(field(package, "Description").starts_with("classify"))
      << field(package, "Description");
  const std::string needed = field(package, "Depends");
  for (const char* library : {"libc6", "libstdc++6", "libpng16", "libtiff", "libwebp"}) {
    EXPECT_NE(needed.find(library), std::string::npos) << needed;
  }
  EXPECT_EQ(needed.find("-dev"), std::string::npos) << needed;
  EXPECT_EQ(needed.find("torch"), std::string::npos) << needed;
  // Files belong to root, independent of the packager.
  const std::string listed = run_program({"dpkg-deb", "-c", package}).out;
  EXPECT_TRUE(std::regex_search(listed, std::regex("-rwxr-xr-x root/root .* [.]/usr/bin/vig\n")))
      << listed;
  EXPECT_TRUE(std::regex_search(listed, std::regex("-rw-r--r-- root/root .*/man1/vig[.]1")))
      << listed;
}

TEST_F(DebianPackages, LibrariesAndModuleNameTheOthers) {
  const auto built = components();
  const auto has = [&](const char* name) {
    return std::find(built.begin(), built.end(), name) != built.end();
  };
  if (has("library")) {
    const std::string library = make("library"), development = make("development");
    EXPECT_EQ(field(library, "Package"), "libvig0\n");
    const std::string needed = field(development, "Depends");
    EXPECT_NE(needed.find("libvig0 (= "), std::string::npos) << needed;
    EXPECT_NE(needed.find("libhwy-dev"), std::string::npos) << needed;
    EXPECT_NE(needed.find("libtiff-dev"), std::string::npos) << needed;
    EXPECT_EQ(needed.find("cli11"), std::string::npos) << needed;
    EXPECT_EQ(needed.find(", ,"), std::string::npos) << needed;
    EXPECT_NE(run_program({"dpkg-deb", "-I", library, "shlibs"}).out.find("libvig 0 libvig0"),
              std::string::npos);
  }
  if (!has("python")) GTEST_SKIP() << "the Python module is not built";
  const std::string module = make("python");
  EXPECT_EQ(field(module, "Package"), "python3-vig\n");
  const std::string needed = field(module, "Depends");
  EXPECT_NE(needed.find("python3 (<< 3."), std::string::npos) << needed;
  EXPECT_NE(needed.find("vig (= "), std::string::npos) << needed;
  const std::string scripts = run_program({"dpkg-deb", "-I", module}).out;
  EXPECT_NE(scripts.find("postinst"), std::string::npos) << scripts;
  EXPECT_NE(scripts.find("prerm"), std::string::npos) << scripts;
}

}  // namespace
}  // namespace vig::test
