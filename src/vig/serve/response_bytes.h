// A bound on the memory of responses, from their start until they are sent.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "vig/base/memory_budget.h"

namespace vig {

// Large responses leave an eighth of the bytes to small ones, so that clients who take theirs
// slowly take nothing from the others. For any number of threads; never blocks.
class ResponseBytes {
 public:
  static constexpr uint64_t kSmall = uint64_t{1} << 20;

  explicit ResponseBytes(uint64_t most)
      : small_(std::make_shared<MemoryBudget>(most / 8)),
        large_(std::make_shared<MemoryBudget>(most - most / 8)) {}

  // Some of the bytes, until it is dropped. May outlive the others.
  class Held {
   public:
    explicit Held(std::shared_ptr<MemoryBudget> budget)
        : budget_(std::move(budget)), lease_(budget_->take(0)) {}

    // False, and as it was, where the others leave no room.
    bool set(uint64_t bytes) {
      if (bytes > lease_.bytes()) return lease_.try_grow(bytes - lease_.bytes());
      lease_.shrink_to(bytes);
      return true;
    }

   private:
    std::shared_ptr<MemoryBudget> budget_;
    MemoryBudget::Lease lease_;
  };

  uint64_t most_of_one() const { return large_->limit(); }
  // Null where the others leave no room.
  std::shared_ptr<Held> hold(uint64_t bytes) const {
    auto held = std::make_shared<Held>(bytes > kSmall ? large_ : small_);
    return held->set(bytes) ? held : nullptr;
  }

 private:
  std::shared_ptr<MemoryBudget> small_, large_;
};

}  // namespace vig
