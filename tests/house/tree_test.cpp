// Rules for the files of the tree that no compiler checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "house/git_files.h"
#include "house/root.h"
#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

bool is_cpp(const std::string& file) { return file.ends_with(".cpp") || file.ends_with(".h"); }

// Absolute paths of some machine; parts of relative ones are none.
std::vector<std::string> machine_paths(const std::string& text) {
  static const std::regex pattern(
      "(?:^|[^A-Za-z0-9_./-])(/(?:work|root|home|tmp/build)/[^\\s\"']*)");
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

TEST(Tree, NoSourceFileIsTooLong) {
  const std::vector<std::string> files = tracked_files(kRoot);
  if (files.empty()) GTEST_SKIP() << "git tracks no files here";
  for (const std::string& file : files) {
    if (!is_cpp(file)) continue;
    const std::string text = read_file(kRoot / file);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), file.starts_with("src/") ? 400 : 600)
        << file << " is too long";
  }
}

TEST(Tree, NoFileNamesAPathOfOneMachine) {
  const std::vector<std::string> files = tracked_files(kRoot);
  if (files.empty()) GTEST_SKIP() << "git tracks no files here";
  for (const std::string& file : files) {
    const std::string text = read_file(kRoot / file);
    if (text.find('\0') != std::string::npos) continue;  // not text
    for (const std::string& path : machine_paths(text)) ADD_FAILURE() << file << " names " << path;
  }
}

TEST(Tree, MachinePathsAreRecognised) {
  const std::string work =
      "/wo"
      "rk/";  // in two parts: this file is checked, too
  EXPECT_EQ(machine_paths("see " + work + "main/a.h \n"), std::vector{work + "main/a.h"});
  EXPECT_EQ(machine_paths(work + "x"), std::vector{work + "x"});
  EXPECT_EQ(machine_paths("\"" + work + "\"").size(), 1u);
  EXPECT_TRUE(machine_paths("docs" + work + "plan and .." + work + " and /workshop").empty());
}

// Other versions lay out some lines differently, so only the one of Debian 12 judges.
TEST(Tree, ClangFormatChangesNothing) {
  const RunResult version = run_program({"clang-format", "--version"});
  if (version.out.find("version 14.") == std::string::npos) {
    GTEST_SKIP() << "needs clang-format 14, found " << version.out;
  }
  const std::vector<std::string> files = tracked_files(kRoot);
  if (files.empty()) GTEST_SKIP() << "git tracks no files here";
  std::vector<std::string> command = {"clang-format", "--dry-run", "-Werror", "--ferror-limit=1"};
  for (const std::string& file : files) {
    if (is_cpp(file)) command.push_back(file);
  }
  const RunResult result = run_program(command, {.directory = kRoot});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

}  // namespace
}  // namespace vig::test
