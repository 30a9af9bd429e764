#include "vig/base/thread_team.h"

namespace vig {

ThreadTeam::ThreadTeam(int size) : size_(size) {
  threads_.reserve(static_cast<size_t>(size_ - 1));
  for (int worker = 1; worker < size_; ++worker) {
    threads_.emplace_back([this, worker] { serve(worker); });
  }
}

ThreadTeam::~ThreadTeam() {
  round_.store(-1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::run(Work work, void* context) {
  if (size_ > 1) {
    work_ = work;
    context_ = context;
    round_.store((round_.load(std::memory_order_relaxed) + 1) & 0x7fffffff,
                 std::memory_order_release);
    round_.notify_all();
  }
  work(context, 0);
  barrier_.wait(size_);
}

void ThreadTeam::serve(int worker) {
  for (int seen = 0;;) {
    spin_while([&] { return round_.load(std::memory_order_acquire) == seen; });
    round_.wait(seen, std::memory_order_acquire);
    seen = round_.load(std::memory_order_acquire);
    if (seen < 0) return;
    work_(context_, worker);
    barrier_.wait(size_);
  }
}

}  // namespace vig
