// Ctrl-C, SIGTERM and SIGHUP while a run is at work: the first asks for a stop, the second ends the
// program at once.
#pragma once

#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>

namespace vig::cli {

// While it lives, a thread of its own takes these signals, so that what they lead to may print and
// remove files. Those that the program was started to ignore (nohup) stay ignored. To be made
// before other threads are, as they inherit which signals they leave alone.
class StopSignals {
 public:
  // Both are called by that thread; after the second the process ends, with the status that
  // exit_status() gives.
  StopSignals(std::function<void()> on_first, std::function<void()> on_second);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool stopping() const { return signal_ != 0; }
  int exit_status() const { return 128 + signal_; }  // of a program that a signal stopped

 private:
  void watch();

  const std::function<void()> on_first_, on_second_;
  sigset_t taken_, before_;
  std::atomic<int> signal_ = 0;  // the first that came
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace vig::cli
