#include "vig/cli/program.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <new>
#include <sstream>

#include "vig/base/error.h"
#include "vig/cli/output.h"

namespace vig::cli {
namespace {

constexpr int kBadInput = 1;
constexpr int kBadUsage = 2;

// One sentence, and where to read on.
std::string usage_sentence(const CLI::App& app, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  while (!message.empty() && (message.back() == ' ' || message.back() == '.')) message.pop_back();
  if (message.size() > 1 && std::islower(static_cast<unsigned char>(message[1]))) {
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  }
  const auto commands = app.get_subcommands();
  const std::string command = commands.empty() ? "" : " " + commands.front()->get_name();
  return fmt::format("{} (see vig{} --help)", message, command);
}

int run(const char* name, const char* description, void (*fill)(CLI::App&, Command&), int argc,
        char** argv) {
  CLI::App app(description, name);
  app.set_version_flag("--version", fmt::format("{} {}", name, VIG_VERSION),
                       "Print the version and exit");
  app.set_help_flag("-h,--help", "Print help and exit");
  app.get_formatter()->column_width(34);
  app.require_subcommand(0, 1);
  app.footer("Exit status: 0 success, 1 bad input or data, 2 bad usage, 130 stopped by Ctrl-C.");
  Command chosen;
  fill(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // help and version
    std::ostringstream text, unused;
    app.exit(success, text, unused);
    print(text.str());
    return 0;
  } catch (const CLI::ParseError& error) {
    const bool no_command = app.get_subcommands().empty() && argc > 1 && argv[1][0] != '-';
    complain(no_command ? fmt::format("there is no command '{}' (see vig --help)", argv[1])
                        : usage_sentence(app, error.what()));
    return kBadUsage;
  }
  if (!chosen) {
    print(app.help());
    return kBadUsage;
  }
  return chosen();
}

int report(const Error& error) {
  complain(error.what());
  return error.code() == ErrorCode::kUsage ? kBadUsage : kBadInput;
}

}  // namespace

int run_program(const char* name, const char* description, void (*fill)(CLI::App&, Command&),
                int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // a reader that goes away is told by the failing write
  try {
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
