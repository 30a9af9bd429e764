#include "vig/cli/all_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "vig/base/co_process.h"
#include "vig/base/error.h"
#include "vig/cli/helper_program.h"
#include "vig/weights/strict_json.h"

namespace vig::cli {
namespace {

constexpr double kHelperSeconds = 60;  // LibTorch takes long to load from a slow disk
constexpr JsonLimits kLimits{size_t{1} << 20, 5};

// What a helper program says of itself; nothing where it is not there.
std::vector<CommandText> ask(const HelperProgram& helper) {
  CoProcess program("exec \"$VIG_HELPER\" --describe", {"VIG_HELPER=" + helper_path(helper)});
  try {
    const auto line = program.read_line(kHelperSeconds, [] { return true; });
    return commands_from_json(parse_strict_json(helper.name, line.value_or("[]"), kLimits));
  } catch (const Error&) {
    return {};
  }
}

bool has(const CommandText& command, const OptionText& option) {
  return std::any_of(command.options.begin(), command.options.end(), [&](const OptionText& own) {
    return !own.names.empty() && own.names.back() == option.names.back();
  });
}

// Replaces a command that `vig` only lists. To a command that `vig` has itself, such as
// bench, further options are added, under the title `group`.
void merge(const CommandText& from, const std::string& group, CommandText& into) {
  if (is_undescribed(into)) {
    into = from;
    return;
  }
  for (OptionText option : from.options) {
    if (option.names.empty() || has(into, option)) continue;
    option.group = group;
    into.options.push_back(std::move(option));
  }
}

}  // namespace

bool is_undescribed(const CommandText& command) { return command.options.size() <= 1; }

std::vector<CommandText> describe_all(const CommandLine& line) {
  std::vector<CommandText> commands = describe(line);
  std::map<std::string_view, std::vector<CommandText>> asked;  // by program
  for (const HelperProgram* helper : helper_programs()) {
    if (!asked.contains(helper->name)) asked[helper->name] = ask(*helper);
    for (CommandText& own : commands) {
      const std::string called = fmt::format("vig {} ", own.name);
      if (!fmt::format("{} ", helper->command).starts_with(called)) continue;
      for (const CommandText& described : asked[helper->name]) {
        if (described.name == own.name) merge(described, helper->command, own);
      }
    }
  }
  return commands;
}

}  // namespace vig::cli
