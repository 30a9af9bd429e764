#include "vig/cli/train/stop_signals.h"

#include <unistd.h>

#include <utility>

namespace vig::cli {

StopSignals::StopSignals(std::function<void()> on_first, std::function<void()> on_second)
    : on_first_(std::move(on_first)), on_second_(std::move(on_second)) {
  sigemptyset(&taken_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&taken_, number);
  }
  sigaddset(&taken_, SIGUSR1);  // the thread's own, to end it
  pthread_sigmask(SIG_BLOCK, &taken_, &before_);
  thread_ = std::thread([this] { watch(); });
}

StopSignals::~StopSignals() {
  over_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void StopSignals::watch() {
  for (;;) {
    int number = 0;
    if (sigwait(&taken_, &number) != 0) continue;
    if (over_) return;
    if (number == SIGUSR1) continue;
    if (signal_ == 0) {
      signal_ = number;
      on_first_();
      continue;
    }
    on_second_();
    _exit(exit_status());
  }
}

}  // namespace vig::cli
