// Work that waits for a network: bounded, and gathered into batches.
//
// Works of one key (a model, a task and its options) may run together. The first that waits decides
// which key is next. It runs at once where nothing else runs; otherwise others of the key join it
// until the batch is full, the first has waited long enough, or the others are done.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace vig {

struct BatchQueueOptions {
  size_t most_waiting = 256;  // pictures
  size_t batch = 8;           // pictures that run together, unless one work has more
  std::chrono::microseconds wait = std::chrono::milliseconds(2);
  int workers = 2;  // batches at a time
};

template <class Work>
class BatchQueue {
 public:
  struct Entry {
    std::string key;
    size_t pictures = 1;
    Work work;
  };
  // Runs works of one key. Called by several threads at a time; throws nothing.
  using Run = std::function<void(std::vector<Entry>& batch)>;

  BatchQueue(const BatchQueueOptions& options, Run run) : options_(options), run_(std::move(run)) {
    for (int i = 0; i < options.workers; ++i) {
      threads_.emplace_back([this](std::stop_token stop) { serve(stop); });
    }
  }
  // Runs what waits, then ends.
  ~BatchQueue() {
    for (std::jthread& thread : threads_) thread.request_stop();
  }

  // False, and `entry` as it was, where too much waits already.
  bool add(Entry& entry) {
    {
      const std::lock_guard lock(mutex_);
      if (pictures_ + entry.pictures > options_.most_waiting) return false;
      waiting_.push_back({std::move(entry), std::chrono::steady_clock::now()});
      pictures_ += waiting_.back().entry.pictures;
    }
    idle_.notify_one();
    gatherer_.notify_one();
    return true;
  }
  // Forgets what waits.
  void drop() {
    std::deque<Waiting> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(waiting_);
    pictures_ = 0;
    gatherer_.notify_one();
  }
  size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return pictures_;
  }
  bool full() const { return waiting() >= options_.most_waiting; }

 private:
  struct Waiting {
    Entry entry;
    std::chrono::steady_clock::time_point since;
  };

  // One worker at a time gathers a batch; the others run theirs or sleep.
  void serve(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const bool mine = idle_.wait(lock, stop, [this] { return !gathering_ && !waiting_.empty(); });
      if (!mine) return;  // stopped, and nothing waits but for the one who gathers
      gathering_ = true;
      const std::string key = waiting_.front().entry.key;
      const auto until = waiting_.front().since + options_.wait;
      const auto dropped = [&] { return waiting_.empty() || waiting_.front().entry.key != key; };
      gatherer_.wait_until(lock, stop, until, [&] {
        return running_ == 0 || dropped() || pictures_of(key) >= options_.batch;
      });
      gathering_ = false;
      std::vector<Entry> batch = take(key);
      if (!waiting_.empty()) idle_.notify_one();
      if (batch.empty()) continue;
      ++running_;
      lock.unlock();
      run_(batch);
      batch.clear();
      lock.lock();
      --running_;
      gatherer_.notify_one();
    }
  }

  size_t pictures_of(const std::string& key) const {
    size_t pictures = 0;
    for (const Waiting& one : waiting_) pictures += one.entry.key == key ? one.entry.pictures : 0;
    return pictures;
  }

  std::vector<Entry> take(const std::string& key) {
    std::vector<Entry> batch;
    size_t pictures = 0;
    for (auto one = waiting_.begin(); one != waiting_.end();) {
      const bool fits = batch.empty() || pictures + one->entry.pictures <= options_.batch;
      if (one->entry.key != key || !fits) {
        ++one;
        continue;
      }
      pictures += one->entry.pictures;
      batch.push_back(std::move(one->entry));
      one = waiting_.erase(one);
    }
    pictures_ -= pictures;
    return batch;
  }

  const BatchQueueOptions options_;
  const Run run_;
  mutable std::mutex mutex_;
  std::condition_variable_any idle_;      // workers without a batch
  std::condition_variable_any gatherer_;  // the one that waits for its batch to be full
  bool gathering_ = false;
  std::deque<Waiting> waiting_;
  size_t pictures_ = 0;                // that wait
  int running_ = 0;                    // batches
  std::vector<std::jthread> threads_;  // last, so that they end before what they use
};

}  // namespace vig
