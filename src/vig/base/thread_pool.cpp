#include "vig/base/thread_pool.h"

#include <unistd.h>

#include <new>
#include <system_error>

namespace vig {

ThreadPool::ThreadPool(int most) : process_(::getpid()), size_(most) { start(); }

void ThreadPool::start() {
  threads_.reserve(static_cast<size_t>(size_ - 1));
  try {
    for (int worker = 1; worker < size_; ++worker) {
      threads_.emplace_back([this, worker] { serve(worker); });
    }
  } catch (const std::system_error&) {  // the threads that did start are the pool
  } catch (const std::bad_alloc&) {
  }
  // Workers read it in their first run, which the store to round_ publishes.
  size_ = static_cast<int>(threads_.size()) + 1;
}

// What the parent's threads held or waited for is as it was when it forked, so all of it is made
// anew. No other thread runs in a child whose first call this is.
ThreadPool& ThreadPool::renewed() {
  if (process_ == ::getpid()) return *this;
  process_ = ::getpid();
  new (&threads_) std::vector<std::thread>;  // not destroyed: there is nothing to wait for
  new (&turn_) std::mutex;
  new (&barrier_) Barrier;
  callers_ = 0;
  round_ = 0;
  start();
  return *this;
}

ThreadPool::~ThreadPool() {
  if (process_ != ::getpid()) {
    new (&threads_) std::vector<std::thread>;
    return;
  }
  round_.store(-1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(Work work, void* context) {
  renewed();
  const std::lock_guard turn(turn_);
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

void ThreadPool::serve(int worker) {
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
