#include "vig/cli/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "vig/cli/all_commands.h"
#include "vig/cli/program.h"

namespace vig::cli {
namespace {

constexpr std::string_view kExamples = "Examples:";

// Text as it is: no character is an instruction, and a hyphen can be copied into a shell.
std::string plain(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    line_start = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + plain(text) + "\\fR"; }

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string sentence(std::string text) {
  if (!text.ends_with('.')) text += '.';
  return text;
}

// Lines that are indented stay lines; others are filled to paragraphs.
std::string paragraphs(const std::string& text) {
  std::string out;
  bool as_is = false, empty = true;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool indented = line.starts_with(' ');
    if (indented && !as_is) out += ".PP\n.nf\n";
    if (!indented && as_is) out += ".fi\n";
    if (!indented && (as_is || line.empty() || empty)) out += ".PP\n";
    if (!line.empty()) out += plain(line) + "\n";
    as_is = indented;
    empty = false;
  }
  return out + (as_is ? ".fi\n" : "");
}

std::string option_entry(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "" : ", ") + bold(name);
  }
  if (names.empty()) names = italic(option.positional);
  if (!option.value.empty()) names += " " + italic(option.value);
  if (option.many && !option.value.ends_with("...")) names += " ...";
  std::string help = sentence(option.help);
  if (!option.preset.empty()) help += fmt::format(" Default: {}.", option.preset);
  if (option.required) help += " Required.";
  return fmt::format(".TP\n{}\n{}\n", names, plain(help));
}

// Positionals first, then options by the titles of their groups.
std::string options_section(const CommandText& command) {
  std::string out, group;
  for (const OptionText& option : command.options) {
    if (!option.positional.empty()) out += option_entry(option);
  }
  if (!out.empty()) out = ".SH ARGUMENTS\n" + out;
  out += ".SH OPTIONS\n";
  std::vector<std::string> groups;
  for (const OptionText& option : command.options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) {
      groups.push_back(option.group);
    }
  }
  for (const std::string& title : groups) {
    if (title != groups.front()) out += fmt::format(".SS {}\n", plain(title));
    for (const OptionText& option : command.options) {
      const bool shown = option.group == title && !option.names.empty();
      if (shown && option.positional.empty()) out += option_entry(option);
    }
  }
  return out;
}

std::string commands_section(const std::vector<CommandText>& commands) {
  std::string out = ".SH COMMANDS\n";
  for (const CommandText& command : commands) {
    if (&command == &commands.front()) continue;
    out +=
        fmt::format(".TP\n{}\n{}\n", bold("vig " + command.name), plain(sentence(command.summary)));
  }
  return out;
}

std::string see_also(const CommandText& command, const std::vector<CommandText>& commands) {
  std::string out;
  for (const CommandText& other : commands) {
    if (other.name == command.name || is_undescribed(other)) continue;
    out += fmt::format("{}{}(1)", out.empty() ? "" : ",\n", bold(page_name(other)));
  }
  return ".SH SEE ALSO\n" + out + "\n";
}

}  // namespace

std::string page_name(const CommandText& command) {
  return command.name == "vig" ? command.name : "vig-" + command.name;
}

std::string manual_page(const CommandText& command, const std::vector<CommandText>& commands) {
  const bool program = command.name == commands.front().name;
  // The program's footer is the exit status, which has its own section.
  std::string footer = program ? "" : command.footer, examples;
  if (const size_t at = footer.find(kExamples); at != std::string::npos) {
    examples = ".SH EXAMPLES\n" + paragraphs(footer.substr(at + kExamples.size() + 1));
    footer.resize(at);
  }
  std::string summary = command.summary;
  while (summary.ends_with('.')) summary.pop_back();
  const std::string name = page_name(command);
  return fmt::format(".TH {} 1 \"\" \"vig {}\" \"User Commands\"\n", plain(upper(name)),
                     VIG_VERSION) +
         fmt::format(".SH NAME\n{} \\- {}\n", plain(name), plain(summary)) +
         fmt::format(".SH SYNOPSIS\n{}\n", plain(command.usage)) +
         fmt::format(".SH DESCRIPTION\n{}\n{}", plain(sentence(command.summary)),
                     paragraphs(footer)) +
         options_section(command) + (program ? commands_section(commands) : "") +
         fmt::format(".SH EXIT STATUS\n{}\n", plain(kExitStatus)) + examples +
         see_also(command, commands);
}

}  // namespace vig::cli
