// A library to be preloaded, so that a program as it is gets a signal at an exact point of its
// work:
//
//   VIG_SIGNAL_AT=CALL:NAME:NUMBER:SIGNAL[:RANK]
//
// The NUMBER-th CALL whose path contains NAME sends it: open, rename (before it; the new path
// counts) or renamed (after it). SIGNAL is KILL, STOP, INT, TERM or HUP, with a 2 behind it when it
// is to come twice. It goes to the process itself, or to its RANK-th copy (fork). The call returns
// when the signal has taken effect: the process has ended, or its thread that takes signals waits
// for the next.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

constexpr int kMost = 16;  // processes

struct Wanted {
  char call[16] = "", name[128] = "";
  int number = 0, signal = 0, rank = 0;
  bool twice = false;
} g_wanted;

std::atomic<int> g_count = 0;
int g_rank = 0, g_copies = 0;
pid_t g_pids[kMost] = {};
std::atomic<int>* g_waits = nullptr;  // calls of sigwait by rank, shared with the copies

[[noreturn]] void reject(const char* text) {
  fprintf(stderr, "VIG_SIGNAL_AT=%s is not understood\n", text);
  _exit(99);
}

__attribute__((constructor)) void begin() {
  const char* const text = getenv("VIG_SIGNAL_AT");
  if (text == nullptr) return;
  char signal[16] = "";
  if (sscanf(text, "%15[^:]:%127[^:]:%d:%15[^:]:%d", g_wanted.call, g_wanted.name, &g_wanted.number,
             signal, &g_wanted.rank) < 4 ||
      g_wanted.rank < 0 || g_wanted.rank >= kMost) {
    reject(text);
  }
  char& last = signal[strlen(signal) - 1];
  g_wanted.twice = last == '2';
  if (g_wanted.twice) last = '\0';
  for (const auto& [name, number] : {std::pair{"KILL", SIGKILL},
                                     {"STOP", SIGSTOP},
                                     {"INT", SIGINT},
                                     {"TERM", SIGTERM},
                                     {"HUP", SIGHUP}}) {
    if (strcmp(signal, name) == 0) g_wanted.signal = number;
  }
  if (g_wanted.signal == 0) reject(text);
  void* const shared = mmap(nullptr, kMost * sizeof *g_waits, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) reject(text);
  g_waits = static_cast<std::atomic<int>*>(shared);
}

void send() {
  const pid_t pid = g_wanted.rank == 0 ? getpid() : g_pids[g_wanted.rank];
  struct sigaction action = {};
  sigaction(g_wanted.signal, nullptr, &action);
  kill(pid, g_wanted.signal);
  if (g_wanted.signal == SIGKILL) {
    siginfo_t ended;
    waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT);
    return;
  }
  if (action.sa_handler == SIG_IGN || g_wanted.signal == SIGSTOP) return;
  // Its thread has waited, taken the signal, and waits again.
  while (g_waits[g_wanted.rank] < 2) sched_yield();
  if (!g_wanted.twice) return;
  kill(pid, g_wanted.signal);
  for (;;) pause();
}

void reach(const char* call, const char* path) {
  if (g_waits == nullptr || g_rank != 0 || strcmp(call, g_wanted.call) != 0) return;
  if (strstr(path, g_wanted.name) != nullptr && ++g_count == g_wanted.number) send();
}

template <class Function>
Function next_of(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const mode_t mode = creates ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  reach("open", path);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int rename(const char* from, const char* to) noexcept {
  reach("rename", to);
  const long status = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  if (status == 0) reach("renamed", to);
  return static_cast<int>(status);
}

int sigwait(const sigset_t* set, int* number) {
  static const auto real = next_of<decltype(&sigwait)>("sigwait");
  if (g_waits != nullptr) ++g_waits[g_rank];
  return real(set, number);
}

pid_t fork() noexcept {
  static const auto real = next_of<decltype(&fork)>("fork");
  const int rank = g_copies + 1;
  const pid_t pid = real();
  if (pid == 0) g_rank = rank;
  if (pid > 0 && rank < kMost) {
    g_copies = rank;
    g_pids[rank] = pid;
  }
  return pid;
}

}  // extern "C"
