// The tree installed below a prefix, and the programs under examples/ built on it as other projects
// build theirs: find_package(vig), options of their own.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "examples/bits.h"
#include "support/files.h"
#include "support/run_program.h"
#include "support/started_program.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot(kSourceDir);
const fs::path kData(kFixtures);

std::string words(std::string text) {
  std::erase(text, ' ');
  return text;
}

std::vector<fs::path> headers_below(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) found.push_back(entry.path().lexically_relative(folder));
  }
  return found;
}

// Of tools/layers.txt.
std::set<std::string> public_headers() {
  std::istringstream lines(read_file(kRoot / "tools/layers.txt"));
  std::set<std::string> headers;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("[")) inside = line == "[public]";
    if (inside && line.ends_with(".h")) headers.insert("vig/" + line);
  }
  return headers;
}

TEST(Examples, HaveFewerThan60Lines) {
  for (const auto& entry : fs::directory_iterator(kRoot / "examples")) {
    const std::string kind = entry.path().extension();
    if (kind != ".cpp" && kind != ".c" && kind != ".py" && kind != ".sh") continue;
    const std::string text = read_file(entry.path());
    EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 60) << entry.path();
  }
}

class Installation : public ::testing::Test {
 protected:
  void install() {
    const fs::path first = folder_ / "first";
    const RunResult result = run_program({kCMake, "--install", kBuildDir, "--prefix", first});
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
    fs::rename(first, prefix_);  // a prefix can be moved
  }
  // A copy of examples/ with two more programs.
  void build() {
    fs::copy(kRoot / "examples", folder_ / "source");
    fs::copy(kRoot / "tests/examples/bits.h", folder_ / "source");
    write_file(folder_ / "source/bits.cpp",
               "#include \"bits.h\"\n"
               "int main(int, char** argv) {\n"
               "  std::fputs(vig::test::probabilities(argv[1], argv[2]).c_str(), stdout);\n"
               "}\n");
    std::string all;
    for (const fs::path& header : headers_below(prefix_ / "include")) {
      all += "#include \"" + header.string() + "\"\n";
    }
    write_file(folder_ / "source/headers.cpp", all + "int main() {}\n");
    // Instructions of this very machine: where the compiler may fuse, it does.
    const RunResult configured = run_program(
        {kCMake, "-S", folder_ / "source", "-B", binaries_, "-DCMAKE_BUILD_TYPE=Release",
         "-DCMAKE_CXX_FLAGS=-march=native", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
         "-DCMAKE_PREFIX_PATH=" + prefix_.string()});
    ASSERT_EQ(configured.exit_code, 0) << configured.out << configured.err;
    const RunResult built =
        run_program({kCMake, "--build", binaries_, "--parallel", "2"}, {.time_limit = 100});
    ASSERT_EQ(built.exit_code, 0) << built.out << built.err;
  }
  // The interface for C: in the examples, by pkg-config, and in a project of C alone.
  void expect_c(const std::string& weights, const std::string& image, const std::string& shown) {
    const RunResult result = example("c_classify", {weights, image});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(words(result.out), words(shown));
    EXPECT_EQ(example("c_classify", {}).exit_code, 2);
    const RunResult missing = example("c_classify", {"nothing.safetensors", image});
    EXPECT_EQ(missing.exit_code, 1);
    EXPECT_NE(missing.err.find("nothing.safetensors"), std::string::npos) << missing.err;
    EXPECT_EQ(example("c_classify", {weights, "nothing.jpg"}).exit_code, 1);

    std::string library;
    for (const auto& entry : fs::recursive_directory_iterator(prefix_)) {
      if (entry.path().filename() == "vig.pc") library = entry.path().parent_path().parent_path();
    }
    ASSERT_NE(library, "");
    const std::string program = folder_ / "by_pkg_config";
    const RunResult compiled =
        run_program({"bash", "-c",
                     "cc -std=c99 -Wall -Wextra -Wpedantic -Werror -o '" + program + "' '" +
                         (kRoot / "examples/classify.c").string() +
                         "' $(pkg-config --cflags --libs vig) -Wl,-rpath,'" + library + "'"},
                    {.environment = {"PKG_CONFIG_PATH=" + library + "/pkgconfig"}});
    ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
    EXPECT_EQ(run_program({program, weights, image}).out, result.out);
    const std::string cat = kRoot / "examples/cat.jpg";
    // The models that come with vig, seen from the library: the program lies elsewhere.
    const RunResult bundled = run_program({program, "default", cat});
    EXPECT_EQ(bundled.exit_code, 0) << bundled.err;
    EXPECT_NE(bundled.out.find("  cat\n"), std::string::npos) << bundled.out;
    EXPECT_EQ(run_program({program, "", cat}).out, bundled.out);

    write_file(folder_ / "plain/CMakeLists.txt",
               "cmake_minimum_required(VERSION 3.25)\n"
               "project(plain LANGUAGES C)\n"
               "find_package(vig REQUIRED COMPONENTS c)\n"
               "add_executable(plain \"" +
                   (kRoot / "examples/classify.c").string() +
                   "\")\n"
                   "target_link_libraries(plain PRIVATE vig::c)\n");
    const std::string plain = folder_ / "plain/build";
    const RunResult configured = run_program(
        {kCMake, "-S", folder_ / "plain", "-B", plain, "-DCMAKE_PREFIX_PATH=" + prefix_.string()});
    ASSERT_EQ(configured.exit_code, 0) << configured.out << configured.err;
    ASSERT_EQ(run_program({kCMake, "--build", plain}).exit_code, 0);
    EXPECT_EQ(run_program({plain + "/plain", weights, image}).out, result.out);
  }
  // The installed server, asked by curl.
  void expect_http(const std::string& weights, const std::string& image) {
    const std::string program = prefix_ / "bin/vig", script = kRoot / "examples/classify.sh";
    StartedProgram server({program, "serve", "-m", weights, "--port", "0"}, folder_.path());
    const std::string address = "http://127.0.0.1:" + std::to_string(served_port(server));
    const RunResult asked = run_program({script, address, image});
    EXPECT_EQ(asked.exit_code, 0) << asked.out << asked.err;
    const auto classes = nlohmann::json::parse(asked.out)["results"][0]["classes"];
    const auto shown = nlohmann::json::parse(
        run_program({program, "classify", "-m", weights, "--top", "3", "--json", image}).out);
    EXPECT_EQ(classes, shown[0]["classes"]);
    EXPECT_EQ(classes.size(), 3u);
    EXPECT_NE(run_program({script, address, kRoot / "README.md"}).exit_code, 0);
    EXPECT_EQ(run_program({script}).exit_code, 2);
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0) << server.err();
  }
  RunResult example(const std::string& name, const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {binaries_ / ("example_" + name)};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_program(command);
  }

  const TempDir folder_;
  const fs::path prefix_ = folder_ / "prefix", binaries_ = folder_ / "binaries";
};

TEST_F(Installation, IsWhatOtherProjectsBuildOn) {
  install();
  if (HasFatalFailure()) return;

  // The program finds the default model beside itself.
  const std::string program = prefix_ / "bin/vig";
  const RunResult cat =
      run_program({program, "classify", "--top", "1", kRoot / "examples/cat.jpg"});
  EXPECT_EQ(cat.exit_code, 0) << cat.err;
  EXPECT_TRUE(cat.out.ends_with("cat\n")) << cat.out;
  const std::vector<fs::path> headers = headers_below(prefix_ / "include");
  std::set<std::string> installed(headers.begin(), headers.end());
  installed.erase("vig/vig.h");  // where the C library is built
  EXPECT_EQ(installed, public_headers());

  build();
  if (HasFatalFailure()) return;
  const std::string commands = read_file(binaries_ / "compile_commands.json");
  EXPECT_NE(commands.find("++20"), std::string::npos) << commands;
  for (const std::string& ours : {std::string(" -W"), std::string("-ffp-contract"),
                                  std::string("HWY_DISABLED"), (kRoot / "src").string()}) {
    EXPECT_EQ(commands.find(ours), std::string::npos) << ours << " in\n" << commands;
  }

  const std::string weights = (folder_ / "mini.safetensors").string();
  const std::string image = (kData / "image/photos/cat_chelsea.png").string();
  const std::string checkpoint = (kData / "golden/vig-mini-silu.pth").string();
  ASSERT_EQ(run_program({program, "convert", checkpoint, weights, "--arch", "test_vig"}).err, "");
  const std::string expected = probabilities(weights, image);
  EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), 10) << expected;
  EXPECT_EQ(example("bits", {weights, image}).out, expected);

  // As the command line does.
  const RunResult result = example("classify", {weights, image});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::string shown = run_program({program, "classify", "-m", weights, "--top", "3", image}).out;
  shown = shown.substr(shown.find('\n') + 1);  // the image's name
  EXPECT_EQ(words(result.out), words(shown));
  EXPECT_FALSE(result.out.empty());

  EXPECT_EQ(example("classify", {}).exit_code, 2);
  const RunResult missing = example("classify", {"nothing.safetensors", "nothing.jpg"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_NE(missing.err.find("nothing.safetensors"), std::string::npos) << missing.err;

  if (fs::exists(prefix_ / "bin/vig-serve")) expect_http(weights, image);
  if (fs::exists(prefix_ / "include/vig/vig.h")) expect_c(weights, image, result.out);
}

}  // namespace
}  // namespace vig::test
