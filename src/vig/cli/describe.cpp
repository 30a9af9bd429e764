#include "vig/cli/describe.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "vig/cli/options.h"

namespace vig::cli {
namespace {

OptionText describe(CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (option.get_positional()) text.positional = option.get_name(true, false);
  if (option.get_type_size() != 0) text.value = option.get_type_name();
  text.preset = option.get_default_str();
  text.help = option.get_description();
  text.group = option.get_group();
  text.choices = offered(option);
  text.many = option.get_expected_max() >= CLI::detail::expected_max_vector_size;
  text.required = option.get_required();
  return text;
}

CommandText describe(CLI::App& command, const std::string& called) {
  CommandText text;
  text.name = command.get_name();
  text.summary = command.get_description();
  text.usage = CLI::Formatter().make_usage(&command, called);
  text.usage = text.usage.substr(text.usage.find(' ') + 1);  // "Usage: "
  text.usage.pop_back();                                     // the end of the line
  text.footer = command.get_footer();
  for (CLI::Option* option : command.get_options([](CLI::Option*) { return true; })) {
    if (!option->get_group().empty()) text.options.push_back(describe(*option));
  }
  return text;
}

}  // namespace

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<CommandText> describe(CLI::App& app) {
  std::vector<CommandText> texts = {describe(app, app.get_name())};
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    texts.push_back(describe(*command, "vig " + command->get_name()));
  }
  return texts;
}

}  // namespace vig::cli
