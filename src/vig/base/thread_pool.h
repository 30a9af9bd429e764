// A fixed number of threads that run one function together.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "vig/base/barrier.h"

namespace vig {

// `run` calls work(context, worker) once for every worker 0 .. size - 1, the caller being worker 0,
// and returns when all are done. It allocates nothing. Between runs the others watch for the next
// one for some microseconds and then sleep, so a pool costs an idle machine nothing.
//
// Any number of threads may share a pool: their runs take turns. Work must not call `run` of its
// own pool, which would deadlock. Callers that are many enough to fill the machine by themselves
// are faster without the pool, see Share.
//
// If the system starts fewer threads than asked for (its limit of threads or of memory), the pool
// is smaller; `size` reports it.
class ThreadPool {
 public:
  using Work = void (*)(void* context, int worker);

  explicit ThreadPool(int most);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }
  // In a child of fork(), which has none of its parent's threads, the first run starts new ones.
  void run(Work work, void* context);

  // The same for anything callable with the worker's number.
  template <class F>
  void run(F&& work) {
    run([](void* context,
           int worker) { (*static_cast<std::remove_reference_t<F>*>(context))(worker); },
        &work);
  }

  // To be called by every worker of a run: returns when all have called.
  void barrier() { barrier_.wait(size_); }

  // One caller's use of the pool during the object's lifetime. Few callers run on all threads, in
  // turn. A caller that arrives while half as many callers as threads are active is `alone`: it
  // should run in its own thread, where it never waits for another.
  class Share {
   public:
    explicit Share(ThreadPool& pool)
        : pool_(pool.renewed()),
          alone_(2 * pool.callers_.fetch_add(1) >= pool.size() && pool.size() > 1) {}
    ~Share() { pool_.callers_.fetch_sub(1); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    bool alone() const { return alone_; }

   private:
    ThreadPool& pool_;
    const bool alone_;
  };

 private:
  void start();
  void serve(int worker);
  ThreadPool& renewed();

  pid_t process_;                // that started the threads
  std::mutex turn_;              // held by the caller whose work runs
  std::atomic<int> callers_{0};  // with a Share
  int size_ = 1;
  Work work_ = nullptr;
  void* context_ = nullptr;
  Barrier barrier_;
  alignas(64) std::atomic<int> round_{0};  // increases with every run; negative ends the threads
  std::vector<std::thread> threads_;
};

}  // namespace vig
