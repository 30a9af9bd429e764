#include "vig/cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "vig/weights/atomic_file.h"

namespace vig::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

volatile sig_atomic_t g_signal = 0;

void end_now(int signal) {
  remove_temporary_files();
  _exit(128 + signal);
}

void handle(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // reads and writes that can take long ask interrupted() themselves
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) {
    struct sigaction old = {};
    sigaction(signal, nullptr, &old);
    if (signal == SIGHUP && old.sa_handler == SIG_IGN) continue;  // nohup
    sigaction(signal, &action, nullptr);
  }
}

void note(int signal) {
  if (g_signal != 0) end_now(signal);
  g_signal = signal;
}

}  // namespace

void handle_signals() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGQUIT, end_now);  // nothing is finished for it, but temporary files go
  handle(end_now);
}

void catch_interrupt() { handle(note); }

bool interrupted() { return g_signal != 0; }

int interrupted_exit() { return interrupted() ? 128 + g_signal : kInterruptedExit; }

}  // namespace vig::cli
