// Sessions of one model, kept for whoever needs their size next.
//
//   SessionPool pool(std::move(first_session), make_graph, /*max_bytes=*/1 << 30);
//   const SessionPool::Lease session = pool.take(224, 224, 8);   // on any thread
//   ... fill session->input(i), session->run(8) ...
//
// All sessions share the packed weights and the threads of the first one.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <mutex>

#include "vig/runtime/session.h"

namespace vig {

// For any number of threads; it outlives its leases.
class SessionPool {
 private:
  struct Entry {
    Session session;
    size_t bytes = 0;
    bool fits(int height, int width, int batch) const;
  };
  using Entries = std::list<Entry>;

 public:
  // The model's graph for an input size. Called by several threads at a time.
  using MakeGraph = std::function<Graph(int height, int width)>;

  // A session that nobody else uses until it is dropped.
  class Lease {
   public:
    Lease(Lease&& other) noexcept : pool_(other.pool_), entry_(other.entry_) {
      other.pool_ = nullptr;
    }
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (pool_ != nullptr) pool_->give_back(entry_);
    }

    Session& operator*() const { return entry_->session; }
    Session* operator->() const { return &entry_->session; }

   private:
    friend class SessionPool;
    Lease(SessionPool* pool, Entries::iterator entry) : pool_(pool), entry_(entry) {}

    SessionPool* pool_;
    Entries::iterator entry_;
  };

  // `max_bytes` limits the memory of all sessions together, those in use included. The least
  // recently used one is dropped first. A session in use is never dropped, so that those in use may
  // exceed the limit by themselves.
  // `keep` are the nodes whose values the first session keeps, as all others shall.
  SessionPool(Session first, MakeGraph make_graph, size_t max_bytes, std::vector<int> keep = {});

  // A session for this input size and batch: one that is kept, or a new one.
  Lease take(int height, int width, int batch);

  const PackedModel& model() const { return *model_; }
  const ThreadPool& thread_pool() const { return *thread_pool_; }
  // For sessions of other kinds on the same weights and threads.
  const std::shared_ptr<const PackedModel>& shared_model() const { return model_; }
  const std::shared_ptr<ThreadPool>& shared_thread_pool() const { return thread_pool_; }
  size_t bytes() const;     // of all sessions
  size_t sessions() const;  // kept or in use

 private:
  // Sessions to be dropped so that `more` bytes fit; the caller destroys them after unlocking.
  Entries evict(size_t more);
  void give_back(Entries::iterator entry) noexcept;

  const std::shared_ptr<const PackedModel> model_;
  const std::shared_ptr<ThreadPool> thread_pool_;
  const int slots_;
  const MakeGraph make_graph_;
  const size_t max_bytes_;
  const std::vector<int> keep_;

  mutable std::mutex mutex_;  // for what follows
  size_t bytes_ = 0;
  Entries used_;
  Entries idle_;  // the one used last comes first
};

}  // namespace vig
