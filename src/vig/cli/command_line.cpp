#include "vig/cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>

namespace vig::cli {
namespace {

using Type = OptionTarget::Type;

const char* type_name(Type type) {
  switch (type) {
    case Type::kFlag:
      return "flag";
    case Type::kInt:
    case Type::kInt64:
    case Type::kUint16:
    case Type::kUint64:
      return "integer";
    case Type::kDouble:
      return "number";
    case Type::kText:
    case Type::kTexts:
      return "text";
  }
  return "";
}

std::string variable_text(const OptionTarget& target) {
  switch (target.type) {
    case Type::kInt:
      return fmt::to_string(*static_cast<const int*>(target.variable));
    case Type::kInt64:
      return fmt::to_string(*static_cast<const int64_t*>(target.variable));
    case Type::kUint16:
      return fmt::to_string(*static_cast<const uint16_t*>(target.variable));
    case Type::kUint64:
      return fmt::to_string(*static_cast<const uint64_t*>(target.variable));
    case Type::kDouble:
      return fmt::format("{:g}", *static_cast<const double*>(target.variable));
    case Type::kText:
      return *static_cast<const std::string*>(target.variable);
    case Type::kFlag:
    case Type::kTexts:
      break;
  }
  return "";
}

}  // namespace

Option::Option(std::string names, OptionTarget to, std::string help)
    : declared(std::move(names)), target(std::move(to)) {
  for (size_t start = 0; start < declared.size();) {
    const size_t end = std::min(declared.find(',', start), declared.size());
    const std::string name = declared.substr(start, end - start);
    if (name.starts_with('-')) {
      text.names.push_back(name);
    } else {
      text.positional = name;
    }
    start = end + 1;
  }
  text.type = type_name(target.type);
  text.many = target.type == Type::kTexts;
  text.help = std::move(help);
}

Option& Option::value(std::string name) {
  text.value = std::move(name);
  return *this;
}

Option& Option::required() {
  text.required = true;
  return *this;
}

Option& Option::show_default() {
  if (target.variable != nullptr) text.preset = variable_text(target);
  return *this;
}

Option& Option::integer_range(int64_t least, int64_t most) {
  integers = {true, least, most};
  text.range = fmt::format("{} to {}", least, most);
  return *this;
}

Option& Option::number_range(double least, double most) {
  numbers = {true, least, most};
  text.range = fmt::format("{:g} to {:g}", least, most);
  return *this;
}

Option& Option::one_of(std::vector<std::string> values) {
  choices_only = true;
  return offers(std::move(values));
}

Option& Option::offers(std::vector<std::string> values) {
  text.choices = std::move(values);
  return *this;
}

Option& Option::group(std::string title) {
  text.group = std::move(title);
  return *this;
}

Option& Option::needs(std::string name) {
  needed = std::move(name);
  return *this;
}

Option& Option::one_each(char between) {
  takes_one = true;
  separator = between;
  return *this;
}

Option& Command::flag(std::string names, bool& variable, std::string help) {
  return options.emplace_back(std::move(names), variable, std::move(help));
}

Option& Command::flag(std::string names, OptionTarget::Take take, std::string help) {
  return options.emplace_back(std::move(names), OptionTarget(Type::kFlag, std::move(take)),
                              std::move(help));
}

Option& Command::option(std::string names, OptionTarget target, std::string help) {
  return options.emplace_back(std::move(names), std::move(target), std::move(help));
}

Option& Command::option(std::string names, OptionTarget::Take take, std::string help) {
  return options.emplace_back(std::move(names), OptionTarget(Type::kText, std::move(take)),
                              std::move(help));
}

Command& CommandLine::add_command(std::string name, std::string text) {
  Command& command = commands.emplace_back();
  command.name = std::move(name);
  command.summary = std::move(text);
  return command;
}

std::vector<std::string> CommandLine::command_names() const {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return names;
}

}  // namespace vig::cli
