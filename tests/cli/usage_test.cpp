// Help, exit codes, and closed standard output.
#include <gtest/gtest.h>

#include "cli/vig.h"
#include "support/tree.h"

namespace vig::test {
namespace {

const char* const kCommands[] = {"models",  "info",   "classify", "embed",   "search", "explain",
                                 "segment", "detect", "eval",     "convert", "verify", "bench"};

TEST(Usage, AloneItPrintsHelpAndFails) {
  const RunResult result = vig({});
  EXPECT_EQ(result.exit_code, 2);
  for (const char* command : kCommands) {
    EXPECT_NE(result.out.find(command), std::string::npos) << command;
  }
}

TEST(Usage, HelpOfEveryCommand) {
  expect_success(vig({"--help"}));
  for (const std::string command : kCommands) {
    const RunResult result = vig({command, "--help"});
    expect_success(result);
    EXPECT_NE(result.out.find("Usage: vig " + command), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("--json"), command == "convert" ? 0 : std::string::npos);
  }
}

TEST(Usage, Version) {
  const RunResult result = vig({"--version"});
  expect_success(result);
  EXPECT_TRUE(result.out.starts_with("vig ")) << result.out;
}

TEST(Usage, BadUsageIsOneSentenceAndTwo) {
  expect_complaint(vig({"clasify", "x.png"}), 2, "clasify");
  expect_complaint(vig({"--fast"}), 2, "--fast");
  expect_complaint(vig({"models", "--fast"}), 2, "--fast");
  expect_complaint(vig({"models", "extra"}), 2, "extra");
  expect_complaint(vig({"info"}), 2, "model");
  expect_complaint(vig({"info", "vig_x"}), 2, "vig_x");
  expect_complaint(vig({"info", "vig_t", "--set", "depth"}), 2, "FIELD=VALUE");
  expect_complaint(vig({"info", "vig_t", "--set", "depth=0"}), 2, "depth");
  expect_complaint(vig({"info", "vig_t", "--set", "depth=1000000"}), 2, "blocks");
  expect_complaint(vig({"info", "vig_t", "--set", "wheels=4"}), 2, "wheels");
  expect_complaint(vig({"info", "vig_t", "--size", "big"}), 2, "--size");
  expect_complaint(vig({"info", "vig_t", "--size", "100000"}), 2, "--size");
  expect_complaint(vig({"info", "vig_t", "--size", "224x"}), 2, "--size");
  expect_complaint(vig({"info", "vig_t", "--size", "1x2x3"}), 2, "--size");
  expect_complaint(vig({"info", "vig_t", "--arch", "vig_s"}), 2, "--arch");
  expect_complaint(vig({"classify", "-m", "x"}), 2, "images");
  expect_complaint(vig({"classify", "-m", "vig_t", data("image/photos")}), 2, "vig_t");
  expect_complaint(vig({"classify", "-m", "x", "x.png", "--top", "0"}), 2, "--top");
  expect_complaint(vig({"classify", "-m", "x", "x.png", "--threads", "-1"}), 2, "--threads");
  expect_complaint(vig({"classify", "-m", "x", "x.png", "--size", "0"}), 2, "--size");
  expect_complaint(vig({"embed", "-m", "x", "x.png", "--precision", "xml"}), 2, "--precision");
  expect_complaint(vig({"eval", "-m", "x"}), 2, "data");
  expect_complaint(vig({"classify", "--out", "--top", "x.png"}), 2,
                   "--out expects a value, found '--top'");
  expect_complaint(vig({"eval", "-m", "x", "y", "--split", "all"}), 2, "--split");
  expect_complaint(vig({"eval", "-m", "vig_t", data("image/photos")}), 2, "vig_t");
  expect_complaint(vig({"convert", "x"}), 2, "out");
  expect_complaint(vig({"verify"}), 2, "cases");
  expect_complaint(vig({"verify", "x", "--tolerance", "-1"}), 2, "--tolerance");
  expect_complaint(vig({"bench", "vig_t", "--batch", "1,,2"}), 2, "--batch");
  expect_complaint(vig({"bench", "vig_t", "--threads", "0"}), 2, "--threads");
  expect_complaint(vig({"bench", "vig_t", "--seconds", "0"}), 2, "--seconds");
}

TEST(Usage, OptionsThatExcludeEachOther) {
  const auto refused = [](std::vector<std::string> command, const std::string& words) {
    command.insert(command.begin() + 1, {"-m", "x", "x.png"});
    expect_complaint(vig(command), 2, words);
  };
  refused({"segment", "--whole", "--window", "64"}, "--whole and --window exclude each other");
  for (const std::vector<std::string>& other :
       std::vector<std::vector<std::string>>{{"--out", "y.npy"}, {"--map"}, {"--json"}}) {
    std::vector<std::string> command = {"embed", "--index", "z"};
    command.insert(command.end(), other.begin(), other.end());
    refused(command, "--index excludes");
  }
  refused({"embed", "--json", "--out", "y.npy"}, "exclude each other");
  refused({"embed", "--out", "y.json"}, "expected a file that ends in .jsonl or .npy");
  refused({"classify", "--out", "y.npy"}, "expected a file that ends in .jsonl or .csv");
  refused({"classify", "--resume"}, "--resume needs --out");
  refused({"classify", "--resume", "--out", "y.csv", "--move", "z"}, "--move with --resume");
  refused({"segment", "--out", "y.csv"}, "expected a folder or a file that ends in .jsonl");
  refused({"detect", "--out", "y", "--out", "z"}, "expected one folder");
  refused({"detect", "--out", "y", "--resume"}, "--resume needs --out");
}

TEST(Usage, TyposGetASuggestion) {
  expect_complaint(vig({"clasify", "x.png"}), 2,
                   "there is no command 'clasify' (did you mean 'classify'?)");
  expect_complaint(vig({"trian", "x"}), 2, "(did you mean 'train'?)");
  expect_complaint(vig({"eval", "x", "--confuson", "y"}), 2,
                   "there is no option '--confuson' (did you mean '--confusion'?); see vig eval");
  expect_complaint(vig({"classify", "--to=3", "x.png"}), 2, "(did you mean '--top'?)");
  expect_complaint(vig({"--verson"}), 2, "(did you mean '--version'?)");
  expect_complaint(vig({"info", "vig_tt"}), 2, "'vig_tt' (did you mean 'vig_t'?)");
  expect_complaint(vig({"info", "vig_t", "--set", "dept=3"}), 2, "'dept' (did you mean 'depth'?)");
  EXPECT_EQ(vig({"fly"}).err.find("did you mean"), std::string::npos);
  EXPECT_EQ(vig({"models", "--qqqqqq"}).err.find("did you mean"), std::string::npos);
}

TEST(Usage, AReaderThatGoesAwayIsNoCrash) {
  // A pipe whose only reader is closed before the program starts.
  const TempDir folder;
  const std::string pipe = "'" + (folder / "pipe").string() + "'";
  const std::string script = "mkfifo " + pipe + "; exec 3<>" + pipe + " 4>" + pipe + " 3<&-; '" +
                             kVig + "' models >&4; echo $?";
  const RunResult result = run_program({"bash", "-c", script});
  EXPECT_EQ(result.out, "0\n");
  EXPECT_EQ(result.err, "");
}

TEST(Usage, AFullDiskIsSaid) {
  const std::string script = std::string("'") + kVig + "' models > /dev/full";
  expect_complaint(run_program({"bash", "-c", script}), 1, "No space left");
  const std::string closed = std::string("'") + kVig + "' models >&-";
  expect_complaint(run_program({"bash", "-c", closed}), 1, "standard output");
}

}  // namespace
}  // namespace vig::test
