// docs/help, which ./vig prints without a build, and docs/commands.md: what the programs print.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

TEST(Help, FilesAreWhatTheProgramsPrint) {
  const RunResult result = run_program({(fs::path(kSourceDir) / "tools/write_help.sh").string(),
                                        "--check", fs::path(kVig).parent_path().string()});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

// Every option of every command is on the page.
TEST(Help, ThePageHasEveryOption) {
  const std::string page = read_file(fs::path(kSourceDir) / "docs/commands.md");
  const RunResult described = run_program({kVig, "--describe"});
  int options = 0;
  for (const auto& command : nlohmann::json::parse(described.out)) {
    for (const auto& option : command.at("options")) {
      if (option.at("names").empty()) continue;
      ++options;
      const std::string name = option.at("names").back().get<std::string>();
      EXPECT_NE(page.find(name), std::string::npos) << command.at("name") << " " << name;
    }
  }
  EXPECT_GT(options, 100);
}

TEST(Help, TheCommandHelpIsTheOption) {
  const RunResult of_command = run_program({kVig, "help", "classify"});
  EXPECT_EQ(of_command.exit_code, 0) << of_command.err;
  EXPECT_EQ(of_command.out, run_program({kVig, "classify", "--help"}).out);
  EXPECT_EQ(run_program({kVig, "help"}).out, run_program({kVig, "--help"}).out);
}

}  // namespace
}  // namespace vig::test
