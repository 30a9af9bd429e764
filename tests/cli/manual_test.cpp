// Manual pages against the help that they are made of.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "cli/vig.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

// The text without what troff adds to hyphens.
std::string read_plain(const fs::path& page) {
  std::string text = read_file(page);
  for (size_t at = 0; (at = text.find("\\-", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

class Manual : public ::testing::Test {
 protected:
  Manual() {
    expect_success(vig({"man", "--out", (folder_ / "man").string()}));
    for (const auto& entry : fs::directory_iterator(folder_ / "man"))
      pages_.push_back(entry.path());
    std::ranges::sort(pages_);
  }
  TempDir folder_;
  std::vector<fs::path> pages_;
};

TEST_F(Manual, EveryCommandHasItsPage) {
  const std::string help = vig({"--help"}).out;
  const std::regex command("\n  ([a-z-]+) +[A-Z]");
  const std::string list = help.substr(help.find("Subcommands:"));
  int seen = 0;
  for (std::sregex_iterator match(list.begin(), list.end(), command), end; match != end; ++match) {
    const std::string name = (*match)[1];
    ++seen;
    if (vig({name, "--help"}).exit_code != 0) continue;  // a helper program is not built
    EXPECT_TRUE(fs::exists(folder_ / ("man/vig-" + name + ".1"))) << name;
  }
  EXPECT_GE(seen, 15) << list;
  EXPECT_TRUE(fs::exists(folder_ / "man/vig.1"));
}

TEST_F(Manual, PagesSayWhatTheHelpSays) {
  const std::regex option("(?:^|\n)  (?:-[a-zA-Z],)?(--[a-z0-9-]+)");
  for (const fs::path& page : pages_) {
    const std::string text = read_plain(page), name = page.stem().string();
    for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS"}) {
      EXPECT_NE(text.find(std::string("\n.SH ") + section + "\n"), std::string::npos)
          << page << section;
    }
    const std::vector<std::string> asked = name == "vig"
                                               ? std::vector<std::string>{"--help"}
                                               : std::vector<std::string>{name.substr(4), "--help"};
    const std::string help = vig(asked).out;
    const std::string summary = help.substr(0, help.find('\n'));
    EXPECT_NE(text.find(summary), std::string::npos) << page;
    for (std::sregex_iterator match(help.begin(), help.end(), option), end; match != end; ++match) {
      EXPECT_NE(text.find("\\fB" + (*match)[1].str() + "\\fR"), std::string::npos)
          << page << " lacks " << (*match)[1];
    }
  }
  const std::string examples = read_plain(folder_ / "man/vig-completion.1");
  EXPECT_NE(examples.find(".SH EXAMPLES\n.PP\n.nf\n  source <(vig completion bash)\n"),
            std::string::npos)
      << examples;
  EXPECT_NE(examples.find("completions/vig.fish\n.fi\n.SH "), std::string::npos) << examples;
  EXPECT_EQ(examples.find("Examples:"), std::string::npos) << examples;
  EXPECT_NE(read_plain(folder_ / "man/vig.1").find("\\fBvig classify\\fR"), std::string::npos);
  EXPECT_NE(read_plain(folder_ / "man/vig-classify.1").find("\\fBvig-embed\\fR(1)"),
            std::string::npos);
}

// Two programs know vig bench and vig convert.
TEST_F(Manual, NoOptionIsListedTwice) {
  const std::regex entry("\n[.]TP\n[^\n]*(\\\\fB--[a-z0-9-]+\\\\fR)");
  for (const fs::path& page : pages_) {
    const std::string text = read_plain(page);
    std::set<std::string> seen;
    for (std::sregex_iterator match(text.begin(), text.end(), entry), end; match != end; ++match) {
      EXPECT_TRUE(seen.insert((*match)[1]).second) << page << " " << (*match)[1];
    }
    EXPECT_FALSE(seen.empty()) << page;
  }
}

TEST_F(Manual, TroffHasNothingToSay) {
  if (run_program({"sh", "-c", "command -v man && command -v groff"}).exit_code != 0) {
    GTEST_SKIP() << "man or groff is not installed";
  }
  for (const fs::path& page : pages_) {
    const RunResult result =
        run_program({"man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page},
                    {.environment = {"LC_ALL=C.UTF-8", "MANROFFSEQ=", "MANWIDTH=80"}});
    EXPECT_EQ(result.exit_code, 0) << page << result.err;
    EXPECT_EQ(result.err, "") << page;
  }
}

TEST_F(Manual, OnePageIsPrinted) {
  const RunResult result = vig({"man", "classify"});
  expect_success(result);
  EXPECT_EQ(result.out, read_file(folder_ / "man/vig-classify.1"));
  EXPECT_NE(result.out.find("\\fB\\-\\-threads\\fR"), std::string::npos) << result.out;
  // Values, defaults, and what must be given.
  for (const char* entry :
       {".SH ARGUMENTS\n.TP\n\\fIimages\\fR \\fIIMAGE\\fR ...\nImage files, ",
        "reads standard input. Required.\n.SH OPTIONS\n",
        "\n.TP\n\\fB\\-m\\fR, \\fB\\-\\-model\\fR \\fIFILE\\fR\nWeight file, ",
        "\n.TP\n\\fB\\-\\-top\\fR \\fIK\\fR\nNumber of classes to print for each image. Default: "
        "5.\n"}) {
    EXPECT_NE(result.out.find(entry), std::string::npos) << entry << "\n" << result.out;
  }
  EXPECT_EQ(vig({"man"}).out, read_file(folder_ / "man/vig.1"));
  expect_complaint(vig({"man", "clasify"}), 2,
                   "there is no command 'clasify' (did you mean 'classify'?)");
}

TEST_F(Manual, WithoutAHelperProgramItSaysHowToGetIt) {
  fs::copy_file(kVig, folder_ / "vig");
  const auto alone = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), (folder_ / "vig").string());
    return run_program(arguments, {.environment = {"PATH=/bin"}});
  };
  expect_complaint(alone({"man", "train"}), 1, "-DVIG_TORCH=ON");
  expect_success(alone({"man", "--out", (folder_ / "own").string()}));
  EXPECT_TRUE(fs::exists(folder_ / "own/vig-classify.1"));
  EXPECT_FALSE(fs::exists(folder_ / "own/vig-train.1"));
}

}  // namespace
}  // namespace vig::test
