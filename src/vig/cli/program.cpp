#include "vig/cli/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <new>
#include <string_view>

#include "vig/base/error.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/output.h"
#include "vig/runtime/machine.h"

namespace vig::cli {
namespace {

// A file that is opened while a standard stream is closed would take its number, and messages would
// land in it. Opened for the opposite, /dev/null fails every read or write, as a closed one
// would.
void secure_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    const int opened = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened != stream) fail("/dev/null cannot be opened instead of a closed standard stream");
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

int run(const char* name, const char* description, void (*fill)(CommandLine&), int argc,
        char** argv) {
  CommandLine line{.program = name,
                   .summary = description,
                   .version = fmt::format("{} {}", name, VIG_VERSION),
                   .footer = fmt::format("Exit status: {}", kExitStatus),
                   .commands = {}};
  fill(line);
  if (argc == 2 && std::string_view(argv[1]) == "--describe") {  // vig asks its helper programs
    print(to_json(describe(line)).dump() + "\n");
    return 0;
  }
  const ParsedLine parsed = parse(line, argc, argv);
  if (!parsed.error.empty()) {
    complain(parsed.error);
    return kBadUsageExit;
  }
  if (!parsed.print.empty()) {
    print(parsed.print);
    return 0;
  }
  if (parsed.command == nullptr || !parsed.command->run) {
    print(help_text(line));
    return kBadUsageExit;
  }
  if (const std::string warning = machine_warning(); !warning.empty()) complain(warning);
  return parsed.command->run();
}

int report(const Error& error) {
  complain(error.what());
  return error.code() == ErrorCode::kUsage ? kBadUsageExit : kBadInputExit;
}

}  // namespace

int run_program(const char* name, const char* description, void (*fill)(CommandLine&), int argc,
                char** argv) {
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
  return kBadInputExit;
}

std::filesystem::path program_file() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/exe", unknown);
}

}  // namespace vig::cli
