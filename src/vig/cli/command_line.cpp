#include "vig/cli/command_line.h"

#include <fmt/format.h>

namespace vig::cli {
namespace {

// The type of an option's value, and the value itself where it is in a variable.
struct Described {
  const char* type;
  std::string value;
};

struct Describe {
  Described operator()(const bool*) const { return {"flag", ""}; }
  Described operator()(const Option::TakeFlag&) const { return {"flag", ""}; }
  Described operator()(const double* number) const {
    return {"number", fmt::format("{:g}", *number)};
  }
  Described operator()(const std::string* text) const { return {"text", *text}; }
  Described operator()(const std::vector<std::string>*) const { return {"text", ""}; }
  Described operator()(const Option::TakeText&) const { return {"text", ""}; }
  template <class T>
  Described operator()(const T* number) const {
    return {"integer", fmt::format("{}", *number)};
  }
};

}  // namespace

Option::Option(std::string names, Target to, std::string help)
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
  text.type = std::visit(Describe(), target).type;
  text.many = std::holds_alternative<std::vector<std::string>*>(target);
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
  text.preset = std::visit(Describe(), target).value;
  return *this;
}

Option& Option::range(Integers ends) {
  bounds = ends;
  text.range = fmt::format("{} to {}", ends.first, ends.second);
  return *this;
}

Option& Option::range(Numbers ends) {
  bounds = ends;
  text.range = fmt::format("{:g} to {:g}", ends.first, ends.second);
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

Option& Command::add(std::string names, Option::Target target, std::string help) {
  return options.emplace_back(std::move(names), std::move(target), std::move(help));
}

Command& CommandLine::add_command(std::string name, std::string text) {
  Command command;
  command.name = std::move(name);
  command.summary = std::move(text);
  commands.push_back(std::move(command));
  return commands.back();
}

std::vector<std::string> CommandLine::command_names() const {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return names;
}

}  // namespace vig::cli
