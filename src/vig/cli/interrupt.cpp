#include "vig/cli/interrupt.h"

#include <signal.h>

namespace vig::cli {
namespace {

volatile sig_atomic_t g_interrupted = 0;

void on_interrupt(int) { g_interrupted = 1; }

}  // namespace

void catch_interrupt() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  // A second Ctrl-C meets the default again. Reads and writes go on.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

bool interrupted() { return g_interrupted != 0; }

}  // namespace vig::cli
