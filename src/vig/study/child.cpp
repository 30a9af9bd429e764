#include "vig/study/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "vig/base/error.h"
#include "vig/study/results.h"

namespace vig::study {
namespace {

constexpr std::chrono::milliseconds kPoll{50};
constexpr int kCannotStart = 127;

// In the new process, where SIGINT is blocked and `signals` is the mask to have; calls only what is
// allowed between fork and exec.
[[noreturn]] void become(char* const* arguments, int log, pid_t parent, const sigset_t& signals) {
  // The study's own handler would take a stop that is passed on before exec, and it would be lost.
  ::signal(SIGINT, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  // A group of its own: Ctrl-C on the terminal reaches the study alone, which passes it on once.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kCannotStart);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execvp(arguments[0], arguments);
  const char* reason = std::strerror(errno);
  const ssize_t unused = ::write(STDERR_FILENO, reason, std::strlen(reason));
  static_cast<void>(unused);
  ::_exit(kCannotStart);
}

// Its status as wait gives it, and its use of the machine. Passes a stop on.
int wait_for(pid_t child, const StudyContext& context, rusage& usage) {
  bool signalled = false;
  for (int status = 0;;) {
    const pid_t ended = ::wait4(child, &status, WNOHANG, &usage);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) fail("a started program is lost: {}", std::strerror(errno));
    if (!signalled && !context.keep_going()) {
      ::kill(child, SIGINT);
      signalled = true;
    }
    context.tick();
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace

std::string last_line(const std::string& text) {
  const size_t last = text.find_last_not_of("\n\r ");
  if (last == std::string::npos) return "";
  const size_t before = text.find_last_of("\n\r", last);
  return text.substr(before == std::string::npos ? 0 : before + 1,
                     last - (before == std::string::npos ? size_t(-1) : before));
}

uint64_t run_child(const std::vector<std::string>& arguments, const std::filesystem::path& log,
                   const StudyContext& context) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) fail("{}: cannot be written: {}", log.string(), std::strerror(errno));
  sigset_t stop, before;  // waits until the new process is ready for it
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &stop, &before);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child == 0) become(pointers.data(), file, parent, before);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(file);
  if (child < 0) fail("{} cannot be started: {}", arguments[0], std::strerror(errno));
  rusage usage = {};
  const int status = wait_for(child, context, usage);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  }
  if (!context.keep_going()) throw Stopped();
  const std::string ended = WIFEXITED(status)
                                ? fmt::format("ended with status {}", WEXITSTATUS(status))
                                : fmt::format("was ended by signal {}", WTERMSIG(status));
  std::string said = last_line(read_text(log));
  if (said.starts_with("vig: ")) said.erase(0, 5);
  fail("{} {}: {} (all it printed is in {})", fmt::join(arguments, " "), ended, said, log.string());
}

uint64_t run_vig(std::vector<std::string> arguments, const std::filesystem::path& log,
                 const StudyContext& context) {
  arguments.insert(arguments.begin(), context.program.string());
  return run_child(arguments, log, context);
}

}  // namespace vig::study
