#include "vig/cli/completion.h"

#include <fmt/format.h>

#include <set>
#include <span>

#include "vig/models/family.h"

namespace vig::cli {
namespace {

enum class Takes { kNothing, kChoice, kModel, kFolder, kFile };

Takes takes(const OptionText& option) {
  static const std::set<std::string> kFolders = {"DIR", "FOLDER", "RUNS"};
  if (option.value.empty()) return Takes::kNothing;
  const bool model = option.value == "MODEL" || option.names == std::vector<std::string>{"--arch"};
  if (model) return Takes::kModel;  // a name or a file
  if (!option.choices.empty()) return Takes::kChoice;
  return kFolders.contains(option.value) ? Takes::kFolder : Takes::kFile;
}

std::string model_names() {
  std::vector<std::string> names;
  for (const ModelSpec& spec : model_zoo()) names.push_back(spec.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::span<const CommandText> without_program(const std::vector<CommandText>& commands) {
  return std::span(commands).subspan(1);
}

std::string spaced(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// Each of `characters` in `text` gets `before` in front of it.
std::string escaped(const std::string& text, std::string_view characters, char before = '\\') {
  std::string out;
  for (const char c : text) {
    if (characters.find(c) != std::string_view::npos) out += before;
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// Within single quotes of bash and zsh.
std::string shell_quoted(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + out + "'";
}

std::vector<std::string> option_names(const CommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::string bash_words(const OptionText& option) {
  return takes(option) == Takes::kModel ? "$models" : shell_quoted(spaced(option.choices));
}

std::string bash_command(const CommandText& command) {
  std::string values, words = "''";  // of options, of the positional that has some
  for (const OptionText& option : command.options) {
    std::string action;
    switch (takes(option)) {
      case Takes::kNothing:
        continue;
      case Takes::kModel:
      case Takes::kChoice:
        action = "words=" + bash_words(option);
        if (!option.positional.empty()) words = bash_words(option);
        break;
      case Takes::kFolder:
        action = "compopt -o dirnames; return 0";
        break;
      case Takes::kFile:
        action = "return 0";
        break;
    }
    if (option.names.empty()) continue;
    values += fmt::format("        {}) {} ;;\n", fmt::join(option.names, " | "), action);
  }
  return fmt::format(
      "    {})\n"
      "      case $before in\n"
      "{}"
      "        *) if [[ $word == -* ]]; then words={}; else words={}; fi ;;\n"
      "      esac ;;\n",
      command.name, values, shell_quoted(spaced(option_names(command))), words);
}

// The part of an argument of zsh's _arguments that says what a value is.
std::string zsh_value(const OptionText& option, const std::string& name) {
  const std::string title = ":" + escaped(name, ":\\") + ":";
  switch (takes(option)) {
    case Takes::kNothing:
      return "";
    case Takes::kModel:
      return title + "_vig_models";
    case Takes::kChoice:
      return fmt::format("{}({})", title, spaced(option.choices));
    case Takes::kFolder:
      return title + "_files -/";
    case Takes::kFile:
      break;
  }
  return title + "_files";
}

std::string zsh_command(const CommandText& command, const char* indent) {
  std::string out = fmt::format("{}_arguments -s", indent);
  const auto add = [&](const std::string& argument) {
    out += fmt::format(" \\\n{}  {}", indent, shell_quoted(argument));
  };
  int position = 0;
  for (const OptionText& option : command.options) {
    const std::string help = "[" + escaped(option.help, "[]\\") + "]";
    for (const std::string& name : option.names) {
      const bool more = option.many || option.value == "FIELD=VALUE";
      const std::string others = more ? "*" : fmt::format("({})", spaced(option.names));
      const char* separator = option.value.empty() ? "" : name.starts_with("--") ? "=" : "+";
      add(others + name + separator + help + zsh_value(option, option.value));
    }
    if (option.positional.empty()) continue;
    const std::string argument = option.many ? "*" : std::to_string(++position);
    add(argument + (option.required || option.many ? "" : ":") +
        zsh_value(option, option.positional));
  }
  return out;
}

// Within single quotes of fish.
std::string fish_quoted(const std::string& text) { return "'" + escaped(text, "\\'") + "'"; }

std::string fish_values(const OptionText& option) {
  switch (takes(option)) {
    case Takes::kNothing:
      return "";
    case Takes::kModel:
      return " -r -F -a \"$models\"";
    case Takes::kChoice:
      return " -x -a " + fish_quoted(spaced(option.choices));
    case Takes::kFolder:
      return " -x -a '(__fish_complete_directories)'";
    case Takes::kFile:
      break;
  }
  return " -r -F";
}

std::string fish_options(const CommandText& command, const std::string& condition) {
  std::string out;
  for (const OptionText& option : command.options) {
    const std::string start = fmt::format("complete -c vig -n {}", condition);
    if (!option.names.empty()) {
      out += start;
      for (const std::string& name : option.names) {
        const bool word = name.starts_with("--");
        out += fmt::format(" {} {}", word ? "-l" : "-s", name.substr(word ? 2 : 1));
      }
      out += fmt::format("{} -d {}\n", fish_values(option), fish_quoted(option.help));
    }
    if (option.positional.empty()) continue;
    if (takes(option) == Takes::kModel) out += start + " -a \"$models\"\n";
    if (takes(option) == Takes::kChoice) {
      out += fmt::format("{} -f -a {}\n", start, fish_quoted(spaced(option.choices)));
    }
  }
  return out;
}

}  // namespace

std::string bash_completion(const std::vector<CommandText>& commands) {
  std::vector<std::string> first = option_names(commands.front());
  std::string cases;
  for (const CommandText& command : without_program(commands)) {
    first.push_back(command.name);
    cases += bash_command(command);
  }
  return fmt::format(
      "# Completion of vig in bash, printed by: vig completion bash\n"
      "_vig() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words=\n"
      "  local models={}\n"
      "  COMPREPLY=()\n"
      "  # --option=value comes as three words.\n"
      "  if [[ $word == = ]]; then\n"
      "    word=\n"
      "  elif [[ $before == = ]]; then\n"
      "    before=${{COMP_WORDS[COMP_CWORD - 2]}}\n"
      "  fi\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    words={}\n"
      "  else\n"
      "    case ${{COMP_WORDS[1]}} in\n"
      "{}"
      "    esac\n"
      "  fi\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
      "}}\n"
      "# Where nothing fits, files are offered.\n"
      "complete -o bashdefault -o default -F _vig vig\n",
      shell_quoted(model_names()), shell_quoted(spaced(first)), cases);
}

std::string zsh_completion(const std::vector<CommandText>& commands) {
  std::string list, cases;
  for (const CommandText& command : without_program(commands)) {
    list += fmt::format("    {}\n", shell_quoted(command.name + ":" + command.summary));
    cases += fmt::format("    {})\n{} ;;\n", command.name, zsh_command(command, "      "));
  }
  return fmt::format(
      "#compdef vig\n"
      "# Completion of vig in zsh, printed by: vig completion zsh\n"
      "_vig_models() {{ _alternative 'names:model:({})' 'files:file:_files' }}\n"
      "_vig() {{\n"
      "  local -a commands=(\n"
      "{}"
      "  )\n"
      "  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
      "    _describe -t commands command commands\n"
      "    return\n"
      "  fi\n"
      "  if [[ $words[2] == -* ]]; then\n"
      "{}\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $command in\n"
      "{}"
      "  esac\n"
      "}}\n"
      "# As a file of fpath this is the body of the function; otherwise it is sourced.\n"
      "if [[ $funcstack[1] == _vig ]]; then _vig \"$@\"; else compdef _vig vig; fi\n",
      model_names(), list, zsh_command(commands.front(), "    "), cases);
}

std::string fish_completion(const std::vector<CommandText>& commands) {
  std::string out = fmt::format(
      "# Completion of vig in fish, printed by: vig completion fish\nset -l models {}\n",
      fish_quoted(model_names()));
  for (const CommandText& command : without_program(commands)) {
    out += fmt::format("complete -c vig -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                       fish_quoted(command.summary));
  }
  out += fish_options(commands.front(), "__fish_use_subcommand");
  for (const CommandText& command : without_program(commands)) {
    out += fish_options(command, "'__fish_seen_subcommand_from " + command.name + "'");
  }
  return out;
}

}  // namespace vig::cli
