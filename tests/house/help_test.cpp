// docs/help, which ./vig prints without a build: what the programs themselves print.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

const fs::path kHelp = fs::path(kSourceDir) / "docs/help";

// The pages that there must be: vig, its commands, and bench --train, which has options of its own.
std::set<std::string> pages() {
  std::set<std::string> names = {"bench-train"};
  const RunResult described = run_program({kVig, "--describe"});
  for (const auto& command : nlohmann::json::parse(described.out)) {
    names.insert(command.at("name").get<std::string>());
  }
  return names;
}

TEST(Help, EveryCommandHasAPageAndNothingElse) {
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(kHelp)) found.insert(entry.path().filename());
  std::set<std::string> expected;
  for (const std::string& page : pages()) expected.insert(page + ".txt");
  EXPECT_EQ(found, expected);
  EXPECT_GT(found.size(), 10u);
}

TEST(Help, PagesAreWhatTheProgramsPrint) {
  for (const std::string& page : pages()) {
    std::vector<std::string> command = {kVig, page, "--help"};
    if (page == "vig") command = {kVig, "--help"};
    if (page == "bench-train") command = {kVig, "bench", "--train", "--help"};
    const RunResult result = run_program(command);
    EXPECT_EQ(result.exit_code, 0) << page << ": " << result.err;
    EXPECT_EQ(read_file(kHelp / (page + ".txt")), result.out)
        << page << ": run tools/write_help.sh to write docs/help anew";
  }
}

TEST(Help, TheCommandHelpIsTheOption) {
  const RunResult of_command = run_program({kVig, "help", "classify"});
  EXPECT_EQ(of_command.exit_code, 0) << of_command.err;
  EXPECT_EQ(of_command.out, run_program({kVig, "classify", "--help"}).out);
  EXPECT_EQ(run_program({kVig, "help"}).out, run_program({kVig, "--help"}).out);
}

}  // namespace
}  // namespace vig::test
