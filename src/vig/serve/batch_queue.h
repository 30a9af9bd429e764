// Work that waits for a network: bounded, and gathered into batches.
//
// Works of one key (a model, a task and its options) may run together. The first that waits decides
// which key is next. It runs at once where nothing else runs; otherwise others of the key join it
// until the batch is full, the first has waited long enough, or the others are done.
//
// Large works run on all workers but one, so that the others never wait for them. Works of one key
// are all large, or none is.
#pragma once

#include <algorithm>
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
  size_t most_waiting = 256;  // images
  size_t batch = 8;           // images that run together, unless one work has more
  std::chrono::microseconds wait = std::chrono::milliseconds(2);
  int workers = 2;  // batches at a time
};

template <class Work, class Clock = std::chrono::steady_clock>
class BatchQueue {
 public:
  struct Entry {
    std::string key;
    size_t images = 1;
    Work work;
    bool large = false;
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
      if (images_ + entry.images > options_.most_waiting) return false;
      waiting_.push_back({std::move(entry), Clock::now()});
      images_ += waiting_.back().entry.images;
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
    images_ = 0;
    gatherer_.notify_one();
  }
  size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return images_;
  }
  bool full() const { return waiting() >= options_.most_waiting; }

 private:
  struct Waiting {
    Entry entry;
    typename Clock::time_point since;
  };

  // The first that may run now.
  auto next() const {
    const int most_large = std::max(1, options_.workers - 1);
    return std::ranges::find_if(waiting_, [&](const Waiting& one) {
      return !one.entry.large || running_large_ < most_large;
    });
  }

  // One worker at a time gathers a batch; the others run theirs or sleep.
  void serve(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const bool mine =
          idle_.wait(lock, stop, [this] { return !gathering_ && next() != waiting_.end(); });
      if (!mine) return;  // stopped, and nothing waits but for those who gather or run
      gathering_ = true;
      const Waiting& first = *next();
      const std::string key = first.entry.key;
      const bool large = first.entry.large;
      const auto until = first.since + options_.wait;
      gatherer_.wait_until(lock, stop, until, [&] {
        const size_t gathered = images_of(key);  // none: they were dropped
        return running_ == 0 || gathered == 0 || gathered >= options_.batch;
      });
      gathering_ = false;
      std::vector<Entry> batch = take(key);
      if (!waiting_.empty()) idle_.notify_one();
      if (batch.empty()) continue;
      ++running_;
      running_large_ += large ? 1 : 0;
      lock.unlock();
      run_(batch);
      batch.clear();
      lock.lock();
      --running_;
      running_large_ -= large ? 1 : 0;
      gatherer_.notify_one();
    }
  }

  size_t images_of(const std::string& key) const {
    size_t images = 0;
    for (const Waiting& one : waiting_) images += one.entry.key == key ? one.entry.images : 0;
    return images;
  }

  std::vector<Entry> take(const std::string& key) {
    std::vector<Entry> batch;
    size_t images = 0;
    for (auto one = waiting_.begin(); one != waiting_.end();) {
      const bool fits = batch.empty() || images + one->entry.images <= options_.batch;
      if (one->entry.key != key || !fits) {
        ++one;
        continue;
      }
      images += one->entry.images;
      batch.push_back(std::move(one->entry));
      one = waiting_.erase(one);
    }
    images_ -= images;
    return batch;
  }

  const BatchQueueOptions options_;
  const Run run_;
  mutable std::mutex mutex_;
  std::condition_variable_any idle_;      // workers without a batch
  std::condition_variable_any gatherer_;  // the one that waits for its batch to be full
  bool gathering_ = false;
  std::deque<Waiting> waiting_;
  size_t images_ = 0;                  // that wait
  int running_ = 0;                    // batches
  int running_large_ = 0;              // batches of large works
  std::vector<std::jthread> threads_;  // last, so that they end before what they use
};

}  // namespace vig
