// The scripts that shells source, and what they then offer.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "cli/vig.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

bool is_installed(const std::string& program) {
  return run_program({"sh", "-c", "command -v " + program}).exit_code == 0;
}

bool is_built(const char* program) { return fs::exists(fs::path(kVig).replace_filename(program)); }

std::set<std::string> lines(const std::string& text) {
  std::set<std::string> found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) found.insert(line);
  }
  return found;
}

using Words = std::vector<std::string>;
using Offers = std::set<std::string>;

class Completion : public ::testing::Test {
 protected:
  std::string script(const std::string& shell) {
    const RunResult result = vig({"completion", shell});
    expect_success(result);
    const std::string file = (folder_ / shell).string();
    write_file(file, result.out);
    return file;
  }

  // What bash offers for the last of these words after "vig".
  Offers bash(const Words& words) {
    if (script_.empty()) script_ = script("bash");
    std::string typed;
    for (const std::string& word : words) typed += " '" + word + "'";
    const RunResult result = run_program(
        {"bash", "-euc",
         "source '" + script_ + "'; COMP_WORDS=(vig" + typed +
             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _vig; printf '%s\\n' \"${COMPREPLY[@]}\""});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return lines(result.out);
  }

  TempDir folder_;
  std::string script_;
};

TEST_F(Completion, BashOffersCommandsOptionsAndValues) {
  EXPECT_EQ(bash({"cla"}), Offers{"classify"});
  EXPECT_EQ(bash({"--v"}), Offers{"--version"});
  EXPECT_EQ(bash({"classify", "--thr"}), (Offers{"--threads", "--threshold"}));
  EXPECT_EQ(bash({"classify", "a.png", "--thr"}), (Offers{"--threads", "--threshold"}));
  EXPECT_EQ(bash({"detect", "--labels", ""}), (Offers{"auto", "none", "short", "full"}));
  EXPECT_EQ(bash({"detect", "--labels", "=", "s"}), Offers{"short"});
  EXPECT_EQ(bash({"detect", "--labels", "="}), (Offers{"auto", "none", "short", "full"}));
  EXPECT_EQ(bash({"bench", "--simd", "avx"}), (Offers{"avx512", "avx2"}));
  EXPECT_EQ(bash({"bench", "deit_"}), (Offers{"deit_t", "deit_s", "deit_b"}));
  EXPECT_EQ(bash({"info", "-m", "gmlp_"}), (Offers{"gmlp_t", "gmlp_s", "gmlp_b"}));
  EXPECT_EQ(bash({"convert", "--arch", "gmlp_"}), (Offers{"gmlp_t", "gmlp_s", "gmlp_b"}));
  EXPECT_EQ(bash({"study", "rep"}), Offers{"report"});
  EXPECT_EQ(bash({"completion", ""}), (Offers{"bash", "zsh", "fish"}));
  EXPECT_EQ(bash({"man", "recep"}), Offers{"receptive-field"});
  // Where nothing is offered, the shell offers files.
  EXPECT_EQ(bash({"classify", "x"}), Offers{});
  EXPECT_EQ(bash({"classify", "-m", ""}), Offers{});
}

TEST_F(Completion, BashKnowsTheOptionsOfHelperPrograms) {
  if (is_built("vig-serve")) {
    EXPECT_EQ(bash({"serve", "--lo"}), Offers{"--log"});
    EXPECT_EQ(bash({"serve", "--log", ""}), (Offers{"lines", "json", "none"}));
  }
  if (!is_built("vig-train")) GTEST_SKIP() << "vig-train is not built";
  EXPECT_EQ(bash({"train", "--preset", "ima"}), Offers{"imagenet"});
  // Those of vig bench itself, and what vig bench --train adds.
  EXPECT_EQ(bash({"bench", "--baseline-t"}), Offers{"--baseline-timeout"});
  EXPECT_EQ(bash({"bench", "--al"}), Offers{"--alone"});
}

TEST_F(Completion, EveryOptionOfTheHelpIsOffered) {
  const Offers commands = bash({""});
  EXPECT_GE(commands.size(), 15u);
  const std::regex option("(?:^|\n)  (?:-[a-zA-Z],)?(--[a-z0-9-]+)");
  for (const std::string& command : commands) {
    if (command.starts_with("-")) continue;
    const RunResult help = vig({command, "--help"});
    if (help.exit_code != 0) continue;  // a helper program is not built
    const Offers offered = bash({command, "-"});
    int seen = 0;
    for (std::sregex_iterator match(help.out.begin(), help.out.end(), option), end; match != end;
         ++match, ++seen) {
      EXPECT_TRUE(offered.contains((*match)[1])) << command << " " << (*match)[1];
    }
    EXPECT_GE(seen, 1) << help.out;
  }
}

TEST_F(Completion, AloneTheProgramCompletesItsOwnCommands) {
  fs::copy_file(kVig, folder_ / "vig");
  const RunResult result = run_program({(folder_ / "vig").string(), "completion", "bash"},
                                       {.environment = {"PATH=/bin"}});
  expect_success(result);
  script_ = (folder_ / "alone").string();
  write_file(script_, result.out);
  EXPECT_EQ(bash({"tra"}), Offers{"train"});
  EXPECT_EQ(bash({"train", "--pre"}), Offers{});
  EXPECT_EQ(bash({"classify", "--thr"}), (Offers{"--threads", "--threshold"}));
}

TEST_F(Completion, ScriptsAreOfTheirShells) {
  EXPECT_EQ(run_program({"bash", "-n", script("bash")}).err, "");
  const std::string zsh = script("zsh"), fish = script("fish");
  EXPECT_TRUE(read_file(zsh).starts_with("#compdef vig\n"));
  if (!is_installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  const RunResult checked = run_program({"zsh", "-fnc", "source '" + zsh + "'"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  if (!is_installed("fish")) GTEST_SKIP() << "fish is not installed";
  const RunResult parsed = run_program({"fish", "--no-execute", fish});
  EXPECT_EQ(parsed.exit_code, 0) << parsed.err;
}

TEST_F(Completion, FishOffersCommandsOptionsAndValues) {
  if (!is_installed("fish")) GTEST_SKIP() << "fish is not installed";
  const std::string file = script("fish");
  const auto offers = [&](const std::string& typed) {
    const RunResult result = run_program(
        {"fish", "-c", "source '" + file + "'; complete -C '" + typed + "'"},
        {.directory = folder_.path(), .environment = {"HOME=" + folder_.path().string()}});
    Offers words;
    for (const std::string& line : lines(result.out)) words.insert(line.substr(0, line.find('\t')));
    return words;
  };
  EXPECT_EQ(offers("vig cla"), Offers{"classify"});
  EXPECT_EQ(offers("vig classify --thr"), (Offers{"--threads", "--threshold"}));
  EXPECT_EQ(offers("vig detect --labels "), (Offers{"auto", "none", "short", "full"}));
  EXPECT_EQ(offers("vig study rep"), Offers{"report"});
  EXPECT_EQ(offers("vig info deit_"), (Offers{"deit_t", "deit_s", "deit_b"}));
}

TEST_F(Completion, OtherShellsAreUnknown) {
  expect_complaint(vig({"completion", "csh"}), 2, "csh");
}

}  // namespace
}  // namespace vig::test
