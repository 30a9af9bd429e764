// Libraries of vig_unity are compiled in groups of files outside of developers' builds, so a name
// in an unnamed namespace must be unique in its folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = fs::path(kSourceDir) / "src/vig";

std::vector<std::string> unity_libraries() {
  const std::string text = read_file(kFolder / "CMakeLists.txt");
  std::smatch list;
  if (!std::regex_search(text, list, std::regex("\nvig_unity\\(([a-z ]+)\\)"))) return {};
  const std::string names = list[1];
  const std::regex name("[a-z]+");
  return {std::sregex_token_iterator(names.begin(), names.end(), name), {}};
}

class Unity : public ::testing::TestWithParam<std::string> {};

TEST_P(Unity, AllFilesOfALibraryCompileTogether) {
  const auto commands =
      nlohmann::json::parse(read_file(fs::path(kBuildDir) / "compile_commands.json"));
  const auto command_of = [&](const std::string& file) {
    return std::ranges::find_if(commands, [&](const auto& one) { return one["file"] == file; });
  };
  const auto definitions = [&](const std::string& file) {
    const auto found = command_of(file);
    if (found == commands.end()) return size_t{0};
    const std::string text = found->at("command");
    const std::regex definition(" -D");
    return static_cast<size_t>(
        std::distance(std::sregex_iterator(text.begin(), text.end(), definition), {}));
  };
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(kFolder / GetParam())) {
    if (entry.path().extension() == ".cpp") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  ASSERT_GE(files.size(), 2u);
  // CMake leaves files with definitions of their own alone.
  const size_t common = definitions(files.front());
  std::erase_if(files, [&](const std::string& file) { return definitions(file) != common; });
  const TempDir folder;
  std::string all;
  for (const std::string& file : files) all += "#include \"" + file + "\"\n";
  write_file(folder / "all.cpp", all);
  // As the first file is compiled.
  const auto found = command_of(files.front());
  ASSERT_NE(found, commands.end()) << files.front();
  const std::string command =
      std::regex_replace(found->at("command").get<std::string>(), std::regex(" -o \\S+ -c \\S+$"),
                         " -fsyntax-only '" + (folder / "all.cpp").string() + "'");
  const RunResult result =
      run_program({"sh", "-c", command}, {.directory = found->at("directory")});
  EXPECT_EQ(result.exit_code, 0) << result.err.substr(0, 3000);
  EXPECT_NE(command.find("-fsyntax-only"), std::string::npos) << command;
}

INSTANTIATE_TEST_SUITE_P(Libraries, Unity, ::testing::ValuesIn(unity_libraries()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace vig::test
