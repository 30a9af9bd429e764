// `vig completion` and `vig man`: the help of all commands for shells and for man.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "vig/base/error.h"
#include "vig/base/suggestion.h"
#include "vig/cli/all_commands.h"
#include "vig/cli/commands.h"
#include "vig/cli/completion.h"
#include "vig/cli/helper_program.h"
#include "vig/cli/manual.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/weights/atomic_file.h"

namespace vig::cli {
namespace {

namespace fs = std::filesystem;

struct ManualOptions {
  std::string command;
  std::string out;
};

// A command of `vig` that only its helper program describes, which is not there.
[[noreturn]] void fail_undescribed(const CommandText& command) {
  for (const HelperProgram* helper : helper_programs()) {
    if (helper->command == "vig " + command.name) fail("{}", missing_helper(*helper));
  }
  fail("there is no help for vig {}", command.name);
}

int print_page(const std::string& name, const CommandLine& line) {
  const std::vector<CommandText> commands = describe_all(line);
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const CommandText& command) { return command.name == name; });
  if (found == commands.end()) {
    fail_usage("there is no command '{}'{}", name, suggestion(name, line.command_names()));
  }
  if (is_undescribed(*found)) fail_undescribed(*found);
  print(manual_page(*found, commands));
  return 0;
}

int write_pages(const fs::path& folder, const CommandLine& line) {
  const std::vector<CommandText> commands = describe_all(line);
  fs::create_directories(folder);
  for (const CommandText& command : commands) {
    if (is_undescribed(command)) continue;
    AtomicFile file((folder / (page_name(command) + ".1")).string());
    file.commit_text(manual_page(command, commands));
  }
  return 0;
}

}  // namespace

void add_completion(CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  Command& command = line.add_command("completion", "Print a shell completion script for vig");
  command.option("shell", *shell, "The shell: bash, zsh or fish")
      .required()
      .one_of({"bash", "zsh", "fish"})
      .value("SHELL");
  command.footer =
      "The script knows the options of vig train, vig receptive-field, vig serve and vig study if\n"
      "their programs are built. The Debian package of vig includes these scripts.\n"
      "Examples:\n"
      "  source <(vig completion bash)\n"
      "  vig completion fish > ~/.config/fish/completions/vig.fish";
  command.run = [&line, shell] {
    const std::vector<CommandText> commands = describe_all(line);
    print(*shell == "bash"  ? bash_completion(commands)
          : *shell == "zsh" ? zsh_completion(commands)
                            : fish_completion(commands));
    return 0;
  };
}

void add_manual(CommandLine& line) {
  auto options = std::make_shared<ManualOptions>();
  Command& command = line.add_command("man", "Print the manual page of vig or of a command");
  command.option("command", options->command, "Command, such as classify (default: vig itself)")
      .offers(line.command_names())
      .value("COMMAND");
  command.option("--out", options->out, "Write all manual pages to this folder instead")
      .value("FOLDER");
  command.footer =
      "Examples:\n"
      "  vig man classify | man -l -\n"
      "  vig man --out ~/.local/share/man/man1";
  command.run = [&line, options] {
    if (!options->out.empty()) return write_pages(options->out, line);
    return print_page(options->command.empty() ? "vig" : options->command, line);
  };
}

}  // namespace vig::cli
