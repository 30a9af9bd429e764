#include "vig/base/co_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include "vig/base/error.h"
#include "vig/base/printable.h"

namespace vig {
namespace {

constexpr int kPollMilliseconds = 50;
constexpr size_t kLongestComplaint = 300;

[[noreturn]] void fail_errno(const char* what) {
  fail("cannot be started: {}: {}", what, std::generic_category().message(errno));
}

// Between fork and exec only calls that are safe in a child of a threaded process.
[[noreturn]] void become(char* const* arguments, char* const* environment, const int* streams,
                         pid_t parent) {
  setpgid(0, 0);
  bool ready = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
  for (int i = 0; i < 3; ++i) ready = ready && dup2(streams[i], i) == i;
  for (const int ignored : {SIGPIPE, SIGXFSZ}) signal(ignored, SIG_DFL);
  if (ready) execve(arguments[0], arguments, environment);
  _exit(127);
}

}  // namespace

CoProcess::CoProcess(const std::string& command, const std::vector<std::string>& environment) {
  std::vector<char*> variables;
  for (const std::string& entry : environment)
    variables.push_back(const_cast<char*>(entry.c_str()));
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name(*entry, std::strcspn(*entry, "=") + 1);
    const bool replaced = std::any_of(environment.begin(), environment.end(),
                                      [&](const auto& own) { return own.starts_with(name); });
    if (!replaced) variables.push_back(*entry);
  }
  variables.push_back(nullptr);
  char* const arguments[] = {const_cast<char*>("/bin/sh"), const_cast<char*>("-c"),
                             const_cast<char*>(command.c_str()), nullptr};
  // Towards the command a socket, because writing to one whose reader has gone raises no signal.
  int to[2] = {-1, -1}, from[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to) != 0) fail_errno("socketpair");
  const bool piped = pipe2(from, O_CLOEXEC) == 0;
  const int streams[] = {to[1], from[1], complaints_.fd()};
  const pid_t self = getpid();
  if (piped) pid_ = fork();
  if (pid_ == 0) become(arguments, variables.data(), streams, self);
  const int error = errno;
  close(to[1]);
  if (from[1] >= 0) close(from[1]);
  to_ = to[0];
  from_ = from[0];
  if (pid_ < 0) {
    end();
    errno = error;
    fail_errno("fork");
  }
  setpgid(pid_, pid_);  // also here: end() must not come before the child's own call
}

CoProcess::~CoProcess() { end(); }

void CoProcess::end() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  to_ = from_ = -1;
  if (pid_ <= 0) return;
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
}

void CoProcess::write_line(std::string_view line) {
  const std::string text = fmt::format("{}\n", line);
  for (size_t done = 0; done < text.size();) {
    const ssize_t sent = send(to_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return;
    done += static_cast<size_t>(sent);
  }
}

void CoProcess::fail_ended() {
  // It has closed its output, which commands do when they end. The process itself follows at once.
  siginfo_t info = {};
  for (int waited = 0; info.si_pid == 0 && waited < 1000; waited += 10) {
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG) != 0) break;
    if (info.si_pid == 0) poll(nullptr, 0, 10);
  }
  std::string how = "has closed its output";
  if (info.si_pid != 0 && info.si_code == CLD_EXITED) {
    how = fmt::format("has ended with status {}", info.si_status);
  } else if (info.si_pid != 0) {
    how = fmt::format("was ended by signal {} ({})", info.si_status, strsignal(info.si_status));
  }
  std::string words;  // of its complaint, on one line
  for (const char c : complaints_.contents(4 * kLongestComplaint)) {
    if (c != '\n' && c != ' ') {
      words += c;
    } else if (!words.empty() && words.back() != ' ') {
      words += ' ';
    }
  }
  while (words.ends_with(' ')) words.pop_back();
  if (!words.empty()) how += ": " + printable(words, kLongestComplaint);
  fail("{}", how);
}

std::optional<std::string> CoProcess::read_line(double seconds,
                                                const std::function<bool()>& keep_going) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  for (size_t searched = 0;;) {
    const size_t end = unread_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    searched = unread_.size();
    if (searched > kLongestLine)
      fail("sent a line of more than {} bytes (a fixed limit)", kLongestLine);
    if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) {
      fail("did not reply within {} s", seconds);
    }
    pollfd readable = {from_, POLLIN, 0};
    if (poll(&readable, 1, kPollMilliseconds) <= 0) {
      if (keep_going && !keep_going()) return std::nullopt;
      continue;
    }
    char bytes[65536];
    const ssize_t got = read(from_, bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail_ended();
    unread_.append(bytes, static_cast<size_t>(got));
  }
}

}  // namespace vig
