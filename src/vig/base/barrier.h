// A barrier of the workers of one run, between regions: dozens of times within milliseconds.
#pragma once

#include <sched.h>

#include <atomic>

namespace vig {

// One iteration of a loop that waits for another processor.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins for some 30 to 100 microseconds, or until `waiting` is false; returns whether it still is.
template <class F>
bool spin_while(const F& waiting) {
  for (int spins = 0; spins < 2000; ++spins) {
    if (!waiting()) return false;
    spin_pause();
  }
  return waiting();
}

// Waits by spinning, since the others are microseconds away, but not for long: a worker that was
// put off its processor by another program must be able to get this one.
class Barrier {
 public:
  // Returns when `count` threads have called. All of them pass the same count.
  void wait(int count) {
    const int phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      return;
    }
    const auto waiting = [&] { return phase_.load(std::memory_order_acquire) == phase; };
    if (!spin_while(waiting)) return;
    while (waiting()) sched_yield();
  }

 private:
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<int> phase_{0};
};

}  // namespace vig
