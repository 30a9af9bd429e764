// A fixed number of threads that do one thing together, again and again.
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
// one for some microseconds and then sleep, so a team costs an idle machine nothing.
//
// Any number of threads may share a team: their runs take place one after the other. Work must not
// call `run` of its own team, which would wait for itself. Callers that are many enough to fill the
// machine by themselves get more done without the others, see Share.
//
// Where the system starts fewer threads than asked for (its limit of threads or of memory), the
// team is that much smaller, as `size` reports.
class ThreadTeam {
 public:
  using Work = void (*)(void* context, int worker);

  explicit ThreadTeam(int most);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

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

  // One caller's use of the team while it lives. Few callers run on all threads, in turn. Whoever
  // comes while half as many callers as threads are at work is alone: it should do its work in its
  // own thread, which then never waits for another.
  class Share {
   public:
    explicit Share(ThreadTeam& team)
        : team_(team.renewed()),
          alone_(2 * team.callers_.fetch_add(1) >= team.size() && team.size() > 1) {}
    ~Share() { team_.callers_.fetch_sub(1); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    bool alone() const { return alone_; }

   private:
    ThreadTeam& team_;
    const bool alone_;
  };

 private:
  void start();
  void serve(int worker);
  ThreadTeam& renewed();

  pid_t process_;                // whose threads they are
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
