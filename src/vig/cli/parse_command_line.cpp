// The only file that knows CLI11: it makes CLI11's own description of the table when it is needed.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <sstream>
#include <string_view>

#include "vig/base/suggestion.h"
#include "vig/cli/command_line.h"

namespace vig::cli {
namespace {

constexpr const char *kHelp = "Print help and exit", *kVersion = "Print the version and exit";

// CLI11's own range takes what is no number (nan) for one inside.
template <class T>
CLI::Validator within(const OptionRange<T>& ends) {
  return CLI::Validator(
      [range = CLI::Range(ends.least, ends.most)](std::string& text) -> std::string {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && std::isnan(value)) {
          return "expected a number, found " + text;
        }
        return range(text);
      },
      "");
}

CLI::Option* add_by_type(CLI::App& app, const Option& option) {
  const std::string &names = option.declared, &help = option.text.help;
  const OptionTarget& target = option.target;
  const auto add = [&]<class T>(T* variable) { return app.add_option(names, *variable, help); };
  switch (target.type) {
    case OptionTarget::Type::kFlag:
      if (target.variable != nullptr) {
        return app.add_flag(names, *static_cast<bool*>(target.variable), help);
      }
      return app.add_flag_function(  // --NAME=false is -1
          names, [take = target.take](int64_t times) { take(times > 0 ? "true" : "false"); }, help);
    case OptionTarget::Type::kInt:
      return add(static_cast<int*>(target.variable));
    case OptionTarget::Type::kInt64:
      return add(static_cast<int64_t*>(target.variable));
    case OptionTarget::Type::kUint16:
      return add(static_cast<uint16_t*>(target.variable));
    case OptionTarget::Type::kUint64:
      return add(static_cast<uint64_t*>(target.variable));
    case OptionTarget::Type::kDouble:
      return add(static_cast<double*>(target.variable));
    case OptionTarget::Type::kText:
      if (target.variable != nullptr) return add(static_cast<std::string*>(target.variable));
      return app.add_option_function<std::string>(names, target.take, help);
    case OptionTarget::Type::kTexts:
      break;
  }
  return add(static_cast<std::vector<std::string>*>(target.variable));
}

void add_option(CLI::App& app, const Option& option) {
  CLI::Option* const added = add_by_type(app, option);
  if (!option.text.value.empty()) added->type_name(option.text.value);
  added->default_str(option.text.preset)->required(option.text.required)->group(option.text.group);
  if (option.integers.set) added->check(within(option.integers));
  if (option.numbers.set) added->check(within(option.numbers));
  if (option.choices_only) added->check(CLI::IsMember(option.text.choices).description(""));
  if (option.takes_one) added->allow_extra_args(false);
  if (option.separator != '\0') added->delimiter(option.separator);
  if (!option.needed.empty()) added->needs(app.get_option(option.needed));
}

std::unique_ptr<CLI::App> make_app(const CommandLine& line) {
  auto app = std::make_unique<CLI::App>(line.summary, line.program);
  app->set_version_flag("--version", line.version, kVersion);
  app->set_help_flag("-h,--help", kHelp);
  app->get_formatter()->column_width(34);
  app->require_subcommand(0, 1);
  app->footer(line.footer);
  for (const Command& command : line.commands) {
    CLI::App* const added = app->add_subcommand(command.name, command.summary);
    for (const Option& option : command.options) add_option(*added, option);
    if (!command.footer.empty()) added->footer(command.footer);  // else the program's
  }
  return app;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The first argument that nothing takes, and what may have been meant by it.
std::string unexpected(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  const CLI::App& command = commands.empty() ? app : *commands.front();
  for (const std::string& word : command.remaining()) {
    if (!word.starts_with('-') || word == "--") continue;
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("there is no option '{}'{}", name, suggestion(name, option_names(command)));
  }
  return "";
}

// An option that was given without its value has taken the next option for it. A file whose name
// begins so is written as ./--name.
std::string missing_value(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional() || option->get_expected_max() == 0) continue;
      for (const std::string& value : option->results()) {
        if (!value.starts_with("--") || value.size() == 2) continue;
        return fmt::format("{} expects a value, found '{}'", option->get_name(), value);
      }
    }
  }
  return "";
}

// One sentence, and the command that prints help.
std::string usage_sentence(const CLI::App& app, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  while (!message.empty() && (message.back() == ' ' || message.back() == '.')) message.pop_back();
  if (message.size() > 1 && std::islower(static_cast<unsigned char>(message[1]))) {
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  }
  const auto commands = app.get_subcommands();
  const std::string command = commands.empty() ? "" : " " + commands.front()->get_name();
  return fmt::format("{}; see vig{} --help", message, command);
}

// "vig classify [OPTIONS] images..."
std::string usage_of(const CLI::App& app, const std::string& called) {
  std::string usage = CLI::Formatter().make_usage(&app, called);
  usage.pop_back();                          // the end of the line
  return usage.substr(usage.find(' ') + 1);  // without "Usage: "
}

// One of those that CLI11 adds itself.
OptionText flag_text(std::vector<std::string> names, const char* help) {
  OptionText text;
  text.names = std::move(names);
  text.type = "flag";
  text.help = help;
  return text;
}

}  // namespace

ParsedLine parse(const CommandLine& line, int argc, const char* const* argv) {
  const std::unique_ptr<CLI::App> app = make_app(line);
  ParsedLine parsed;
  try {
    app->parse(argc, argv);
  } catch (const CLI::Success& success) {  // help and version
    std::ostringstream text, unused;
    app->exit(success, text, unused);
    parsed.print = text.str();
    return parsed;
  } catch (const CLI::ParseError& error) {
    const bool no_command = app->get_subcommands().empty() && argc > 1 && argv[1][0] != '-';
    std::string message = unexpected(*app);
    if (no_command) {
      message = fmt::format("there is no command '{}'{}", argv[1],
                            suggestion(argv[1], line.command_names()));
    }
    parsed.error = usage_sentence(*app, message.empty() ? error.what() : message);
    return parsed;
  }
  if (const std::string message = missing_value(*app); !message.empty()) {
    parsed.error = usage_sentence(*app, message);
  }
  for (const Command& command : line.commands) {
    if (app->got_subcommand(command.name)) parsed.command = &command;
  }
  return parsed;
}

std::string help_text(const CommandLine& line) { return make_app(line)->help(); }

std::vector<CommandText> describe(const CommandLine& line) {
  const std::unique_ptr<CLI::App> app = make_app(line);
  const OptionText help = flag_text({"-h", "--help"}, kHelp);
  std::vector<CommandText> texts = {{.name = line.program,
                                     .summary = line.summary,
                                     .usage = usage_of(*app, line.program),
                                     .options = {flag_text({"--version"}, kVersion), help},
                                     .footer = line.footer}};
  for (const Command& command : line.commands) {
    const CLI::App& made = *app->get_subcommand(command.name);
    texts.push_back({.name = command.name,
                     .summary = command.summary,
                     .usage = usage_of(made, "vig " + command.name),
                     .options = {help},
                     .footer = command.footer});
    for (const Option& option : command.options) texts.back().options.push_back(option.text);
  }
  return texts;
}

}  // namespace vig::cli
