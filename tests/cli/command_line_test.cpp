// The table of options: what it parses, what it refuses and how it describes itself.
#include "vig/cli/command_line.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace vig::test {
namespace {

using cli::Command;
using cli::CommandLine;
using cli::ParsedLine;

ParsedLine parse(const CommandLine& line, std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "vig");
  return cli::parse(line, static_cast<int>(arguments.size()), arguments.data());
}

// A command with an option of every kind.
struct Made {
  Made() {
    command.option("inputs", inputs, "Files to read").required().value("FILE");
    command.option("-m,--model", model, "Weight file").value("MODEL");
    command.option("--top", top, "How many").range(1, 1 << 20).show_default().value("K");
    command.option("--port", port, "Port").show_default().value("N");
    command.option("--pixels", pixels, "Most pixels").range(int64_t{1}, INT64_MAX).value("N");
    command.option("--queue", queue, "Most that wait").range(size_t{1}, size_t{4096}).value("N");
    command.option("--share", share, "A share").range(0.0, 1.0).show_default().value("P");
    command.option("--format", format, "Form").one_of({"json", "npy"}).show_default().value("FORM");
    command.option("--shell", shell, "Shell").offers({"bash", "zsh"}).value("SHELL");
    command.option("--set", fields, "Fields").one_each().value("FIELD=VALUE");
    command.option("--classes", classes, "Classes").one_each(',').value("A,B");
    command.option("--page", page, "Page").needs("--top").value("FILE");
    command.flag("--json", json, "Print JSON");
    command
        .option(
            "--text", [this](const std::string& text) { taken += text; }, "Any text")
        .group("More");
    command.flag(
        "--yes", [this](const std::string& text) { taken += text; }, "Yes or no");
    command.footer = "The end.";
    command.run = [] { return 7; };
    line.add_command("other", "Do nothing");
  }

  CommandLine line{"vig", "A program.", "vig 1", "Exit status: 0.", {}};
  Command& command = line.add_command("make", "Make something");
  std::vector<std::string> inputs, fields, classes;
  std::string model, format = "json", shell, page, taken;
  int top = 5;
  uint16_t port = 8080;
  int64_t pixels = 0;
  size_t queue = 0;
  double share = 0.7;
  bool json = false;
};

TEST(CommandLine, ValuesGoToTheirVariables) {
  Made made;
  const ParsedLine parsed =
      parse(made.line, {"make",    "a",       "b",       "-m",        "x",
                        "--top=3", "--port",  "0",       "--pixels",  "9223372036854775807",
                        "--queue", "4096",    "--share", "0.25",      "--format",
                        "npy",     "--shell", "ksh",     "--set",     "a=1",
                        "c",       "--set",   "b=2",     "--classes", "cat,dog",
                        "--page",  "p",       "--json",  "--text",    "t",
                        "--yes"});
  EXPECT_EQ(parsed.error, "");
  ASSERT_EQ(parsed.command, &made.command);
  EXPECT_EQ(parsed.command->run(), 7);
  EXPECT_EQ(made.inputs, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(made.model, "x");
  EXPECT_EQ(made.top, 3);
  EXPECT_EQ(made.port, 0);
  EXPECT_EQ(made.pixels, INT64_MAX);
  EXPECT_EQ(made.queue, 4096u);
  EXPECT_EQ(made.share, 0.25);
  EXPECT_EQ(made.format, "npy");
  EXPECT_EQ(made.shell, "ksh") << "values that are only offered need not be taken";
  EXPECT_EQ(made.fields, (std::vector<std::string>{"a=1", "b=2"}));
  EXPECT_EQ(made.classes, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(made.page, "p");
  EXPECT_TRUE(made.json);
  EXPECT_EQ(made.taken, "ttrue");
}

TEST(CommandLine, WhatIsNotGivenStays) {
  Made made;
  EXPECT_EQ(made.top, 5);
  EXPECT_EQ(made.format, "json");
  EXPECT_FALSE(made.json);
  EXPECT_EQ(made.taken, "");
  parse(made.line, {"make", "a", "--json=false", "--yes=false"});
  EXPECT_FALSE(made.json);
  EXPECT_EQ(made.taken, "false");
}

TEST(CommandLine, RangesIncludeTheirEndsAndNothingElse) {
  const auto error = [](const char* option, const char* text) {
    Made made;
    return parse(made.line, {"make", "a", option, text}).error;
  };
  for (const char* good : {"0", "1", "0.5"}) EXPECT_EQ(error("--share", good), "") << good;
  for (const char* bad : {"-0.1", "1.1", "nan", "-nan", "inf", "x", ""}) {
    EXPECT_TRUE(error("--share", bad).starts_with("--share: ")) << bad << error("--share", bad);
  }
  for (const char* good : {"1", "1048576"}) EXPECT_EQ(error("--top", good), "") << good;
  for (const char* bad : {"0", "1048577", "-1", "nan", "1.5", "99999999999999999999"}) {
    EXPECT_TRUE(error("--top", bad).starts_with("--top: ")) << bad;
  }
  for (const char* bad : {"0", "-1", "4097", "1.5"}) EXPECT_NE(error("--queue", bad), "") << bad;
  EXPECT_EQ(error("--top", "0"), "--top: Value 0 not in range 1 to 1048576; see vig make --help");
  EXPECT_EQ(error("--share", "nan"), "--share: expected a number, found nan; see vig make --help");
  for (const char* bad : {"-1", "65536", "x"}) EXPECT_NE(error("--port", bad), "") << bad;
}

TEST(CommandLine, ErrorsAreOneSentence) {
  const auto error = [](std::vector<const char*> arguments) {
    Made made;
    const std::string sentence = parse(made.line, std::move(arguments)).error;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    return sentence;
  };
  EXPECT_EQ(error({"maek"}), "there is no command 'maek' (did you mean 'make'?); see vig --help");
  EXPECT_EQ(error({"make", "a", "--tpo", "3"}),
            "there is no option '--tpo' (did you mean '--top'?); see vig make --help");
  EXPECT_EQ(error({"make", "a", "--model", "--json"}),
            "--model expects a value, found '--json'; see vig make --help");
  EXPECT_EQ(error({"make"}), "inputs is required; see vig make --help");
  EXPECT_NE(error({"make", "a", "--format", "xml"}).find("--format: xml not in {json,npy}"),
            std::string::npos);
  EXPECT_NE(error({"make", "a", "--page", "p"}).find("--page requires --top"), std::string::npos);
  EXPECT_NE(error({"other", "extra"}).find("extra"), std::string::npos);
}

TEST(CommandLine, HelpAndVersionAreForPrinting) {
  Made made;
  EXPECT_EQ(parse(made.line, {"--version"}).print, "vig 1\n");
  const std::string whole = parse(made.line, {"--help"}).print;
  EXPECT_EQ(whole, cli::help_text(made.line));
  EXPECT_NE(whole.find("Make something"), std::string::npos) << whole;
  EXPECT_NE(whole.find("Exit status: 0."), std::string::npos) << whole;
  const std::string help = parse(made.line, {"make", "--help"}).print;
  for (const char* part :
       {"Usage: vig make [OPTIONS] inputs...", "inputs FILE ... REQUIRED", "-m,--model MODEL",
        "--top K=5", "--port N=8080", "--share P=0.7", "--format FORM=json", "--set FIELD=VALUE",
        "Needs: --top", "More:", "The end."}) {
    EXPECT_NE(help.find(part), std::string::npos) << part << "\n" << help;
  }
  const ParsedLine none = parse(made.line, {});
  EXPECT_EQ(none.command, nullptr);
  EXPECT_EQ(none.error + none.print, "");
}

TEST(CommandLine, DescribesEveryOptionOnce) {
  const Made made;
  const std::vector<cli::CommandText> commands = describe(made.line);
  ASSERT_EQ(commands.size(), 3u);
  EXPECT_EQ(commands[0].name, "vig");
  EXPECT_EQ(commands[0].usage, "vig [OPTIONS] [SUBCOMMAND]");
  EXPECT_EQ(commands[0].options.size(), 2u);
  const cli::CommandText& make = commands[1];
  EXPECT_EQ(make.summary, "Make something");
  EXPECT_EQ(make.usage, "vig make [OPTIONS] inputs...");
  EXPECT_EQ(make.footer, "The end.");
  ASSERT_EQ(make.options.size(), made.command.options.size() + 1) << "with --help";
  const auto find = [&](const std::string& name) {
    for (const cli::OptionText& option : make.options) {
      if (option.positional == name || (!option.names.empty() && option.names.back() == name)) {
        return option;
      }
    }
    ADD_FAILURE() << name;
    return cli::OptionText();
  };
  EXPECT_EQ(make.options[0].names, (std::vector<std::string>{"-h", "--help"}));
  EXPECT_TRUE(find("inputs").required && find("inputs").many && find("inputs").names.empty());
  EXPECT_EQ(find("--model").names, (std::vector<std::string>{"-m", "--model"}));
  EXPECT_EQ(find("--top").type, "integer");
  EXPECT_EQ(find("--top").preset, "5");
  EXPECT_EQ(find("--top").range, "1 to 1048576");
  EXPECT_EQ(find("--top").value, "K");
  EXPECT_EQ(find("--share").type, "number");
  EXPECT_EQ(find("--share").range, "0 to 1");
  EXPECT_EQ(find("--pixels").preset, "") << "not shown";
  EXPECT_EQ(find("--json").type, "flag");
  EXPECT_EQ(find("--yes").type, "flag");
  EXPECT_EQ(find("--text").group, "More");
  EXPECT_EQ(find("--format").choices, (std::vector<std::string>{"json", "npy"}));
  EXPECT_EQ(find("--shell").choices, (std::vector<std::string>{"bash", "zsh"}));
  EXPECT_TRUE(find("--set").many);
}

// As vig asks its helper programs.
TEST(CommandLine, DescriptionsGoThroughJson) {
  const Made made;
  const Json described = to_json(describe(made.line));
  EXPECT_EQ(to_json(cli::commands_from_json(described)).dump(), described.dump());
  EXPECT_THROW(cli::commands_from_json(Json::array({{{"name", "x"}}})), Error);
  EXPECT_THROW(cli::commands_from_json("x"), Error);
}

}  // namespace
}  // namespace vig::test
