#include "vig/cli/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <exception>
#include <new>
#include <sstream>
#include <string_view>

#include "vig/base/error.h"
#include "vig/base/suggestion.h"
#include "vig/cli/describe.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/output.h"
#include "vig/runtime/machine.h"

namespace vig::cli {
namespace {

constexpr int kBadInput = 1;
constexpr int kBadUsage = 2;

// A file that is opened while a standard stream is closed would take its number, and messages would
// land in it. Opened for the opposite, /dev/null fails whoever reads or writes, as a closed one
// would.
void secure_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    const int opened = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened != stream) fail("/dev/null cannot be opened in place of a closed standard stream");
  }
}

constexpr size_t kStackBytes = size_t{1} << 20;

// One touch of the far end moves the limit. Its frame is its own: calling it is the touch.
[[gnu::noinline]] void touch_stack() {
  char stack[kStackBytes];
  stack[0] = 0;
  asm volatile("" : : "r"(stack) : "memory");
}

// The stack of the main thread grows when it is used. Where memory is limited, growth that is
// refused late ends the process without a word, so what the kernels need is taken now.
void reserve_stack() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < 2 * kStackBytes) {
    fail("the stack is limited to {} kB; at least {} kB are needed (ulimit -s)",
         limit.rlim_cur / 1024, 2 * kStackBytes / 1024);
  }
  void* room = ::mmap(nullptr, kStackBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  ::munmap(room, kStackBytes);
  touch_stack();
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

int run(const char* name, const char* description, void (*fill)(CLI::App&, Command&), int argc,
        char** argv) {
  CLI::App app(description, name);
  app.set_version_flag("--version", fmt::format("{} {}", name, VIG_VERSION),
                       "Print the version and exit");
  app.set_help_flag("-h,--help", "Print help and exit");
  app.get_formatter()->column_width(34);
  app.require_subcommand(0, 1);
  app.footer(fmt::format("Exit status: {}", kExitStatus));
  Command chosen;
  fill(app, chosen);
  if (argc == 2 && std::string_view(argv[1]) == "--describe") {  // vig asks its helper programs
    print(nlohmann::json(describe(app)).dump() + "\n");
    return 0;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // help and version
    std::ostringstream text, unused;
    app.exit(success, text, unused);
    print(text.str());
    return 0;
  } catch (const CLI::ParseError& error) {
    const bool no_command = app.get_subcommands().empty() && argc > 1 && argv[1][0] != '-';
    std::string message = unexpected(app);
    if (no_command) {
      message = fmt::format("there is no command '{}'{}", argv[1],
                            suggestion(argv[1], command_names(app)));
    }
    complain(usage_sentence(app, message.empty() ? error.what() : message));
    return kBadUsage;
  }
  if (const std::string message = missing_value(app); !message.empty()) {
    complain(usage_sentence(app, message));
    return kBadUsage;
  }
  if (!chosen) {
    print(app.help());
    return kBadUsage;
  }
  if (const std::string warning = machine_warning(); !warning.empty()) complain(warning);
  return chosen();
}

int report(const Error& error) {
  complain(error.what());
  return error.code() == ErrorCode::kUsage ? kBadUsage : kBadInput;
}

}  // namespace

int run_program(const char* name, const char* description, void (*fill)(CLI::App&, Command&),
                int argc, char** argv) {
  try {
    secure_standard_streams();
    reserve_stack();
    handle_signals();
    const int status = run(name, description, fill, argc, argv);
    flush_output();
    return status;
  } catch (const ReaderGone&) {
    return 0;
  } catch (const Error& error) {
    return report(error);
  } catch (const std::bad_alloc&) {
    complain("not enough memory");
  } catch (const std::exception& error) {
    complain(error.what());
  }
  return kBadInput;
}

std::filesystem::path program_file() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/exe", unknown);
}

}  // namespace vig::cli
