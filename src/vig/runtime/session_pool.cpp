#include "vig/runtime/session_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vig {

bool SessionPool::Entry::fits(int height, int width, int batch) const {
  const Grid& input = session.graph().node(session.graph().inputs.at(0).node).grid;
  return input.height == height && input.width == width && session.batch() == batch;
}

SessionPool::SessionPool(Session first, MakeGraph make_graph, size_t max_bytes,
                         std::vector<int> keep)
    : model_(first.model()),
      thread_pool_(first.thread_pool()),
      slots_(first.slots()),
      make_graph_(std::move(make_graph)),
      max_bytes_(max_bytes),
      keep_(std::move(keep)),
      bytes_(first.bytes()) {
  idle_.push_back({std::move(first), bytes_});
}

SessionPool::Lease SessionPool::take(int height, int width, int batch) {
  const auto fits = [&](const Entry& entry) { return entry.fits(height, width, batch); };
  const auto before_memory = [this](size_t bytes) {
    std::unique_lock lock(mutex_);
    const Entries evicted = evict(bytes);
    lock.unlock();
  };
  std::shared_ptr<const SessionPlan> plan;  // of a session of this size in use
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(idle_, fits);
    if (found != idle_.end()) {
      used_.splice(used_.begin(), idle_, found);
      return {this, found};
    }
    const auto busy = std::ranges::find_if(used_, fits);
    if (busy != used_.end()) plan = busy->session.plan();
  }
  const auto make = [&] {
    if (plan != nullptr) return Session(std::move(plan), before_memory);
    SessionOptions options;
    options.batch = batch;
    options.slots = slots_;
    options.keep = keep_;
    options.thread_pool = thread_pool_;
    options.before_memory = before_memory;
    return Session(model_, make_graph_(height, width), options);
  };
  Session session = make();
  const size_t bytes = session.bytes();
  Entries made;
  made.push_back({std::move(session), bytes});

  const std::lock_guard lock(mutex_);
  bytes_ += bytes;
  used_.splice(used_.begin(), made);
  return {this, used_.begin()};
}

void SessionPool::give_back(Entries::iterator entry) noexcept {
  std::unique_lock lock(mutex_);
  idle_.splice(idle_.begin(), used_, entry);
  const Entries evicted = evict(0);
  lock.unlock();
}

SessionPool::Entries SessionPool::evict(size_t more) {
  Entries evicted;
  while (!idle_.empty() && (bytes_ > max_bytes_ || more > max_bytes_ - bytes_)) {
    bytes_ -= idle_.back().bytes;
    evicted.splice(evicted.begin(), idle_, std::prev(idle_.end()));
  }
  return evicted;
}

size_t SessionPool::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

size_t SessionPool::sessions() const {
  const std::lock_guard lock(mutex_);
  return used_.size() + idle_.size();
}

}  // namespace vig
