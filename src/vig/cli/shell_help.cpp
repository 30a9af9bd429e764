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
  fail("vig {} is described nowhere", command.name);
}

int print_page(const std::string& name, CLI::App& app) {
  const std::vector<CommandText> commands = describe_all(app);
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const CommandText& command) { return command.name == name; });
  if (found == commands.end()) {
    fail_usage("there is no command '{}'{}", name, suggestion(name, command_names(app)));
  }
  if (is_undescribed(*found)) fail_undescribed(*found);
  print(manual_page(*found, commands));
  return 0;
}

int write_pages(const fs::path& folder, CLI::App& app) {
  const std::vector<CommandText> commands = describe_all(app);
  fs::create_directories(folder);
  for (const CommandText& command : commands) {
    if (is_undescribed(command)) continue;
    AtomicFile file((folder / (page_name(command) + ".1")).string());
    file.commit_text(manual_page(command, commands));
  }
  return 0;
}

}  // namespace

void add_completion(CLI::App& app, Command& chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion", "Print a script with which a shell completes commands and options of vig");
  command->add_option("shell", *shell, "The shell: bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
  command->footer(
      "Options of vig train, vig receptive-field, vig serve and vig study are known where their\n"
      "programs are built. Debian's package of vig has these scripts already.\n"
      "Examples:\n"
      "  source <(vig completion bash)\n"
      "  vig completion fish > ~/.config/fish/completions/vig.fish");
  command->callback([&app, &chosen, shell] {
    chosen = [&app, shell] {
      const std::vector<CommandText> commands = describe_all(app);
      print(*shell == "bash"  ? bash_completion(commands)
            : *shell == "zsh" ? zsh_completion(commands)
                              : fish_completion(commands));
      return 0;
    };
  });
}

void add_manual(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<ManualOptions>();
  CLI::App* command =
      app.add_subcommand("man", "Print the manual page of vig or of a command, for man");
  command
      ->add_option("command", options->command, "Command, such as classify (default: vig itself)")
      ->check(offers(command_names(app)))
      ->type_name("COMMAND");
  command->add_option("--out", options->out, "Write all pages into this folder instead")
      ->type_name("FOLDER");
  command->footer(
      "Examples:\n"
      "  vig man classify | man -l -\n"
      "  vig man --out ~/.local/share/man/man1");
  command->callback([&app, &chosen, options] {
    chosen = [&app, options] {
      if (!options->out.empty()) return write_pages(options->out, app);
      return print_page(options->command.empty() ? "vig" : options->command, app);
    };
  });
}

}  // namespace vig::cli
