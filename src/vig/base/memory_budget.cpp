#include "vig/base/memory_budget.h"

#include <algorithm>
#include <utility>

namespace vig {

MemoryBudget::Lease::Lease(Lease&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

MemoryBudget::Lease& MemoryBudget::Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    shrink_to(0);
    budget_ = std::exchange(other.budget_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

bool MemoryBudget::Lease::try_grow(uint64_t more) {
  if (more == 0) return true;
  if (budget_ == nullptr) return false;
  const std::lock_guard lock(budget_->mutex_);
  const uint64_t limit = budget_->limit_locked();
  if (budget_->used_ > limit || more > limit - budget_->used_) return false;
  budget_->used_ += more;
  bytes_ += more;
  return true;
}

void MemoryBudget::Lease::shrink_to(uint64_t bytes) {
  if (bytes >= bytes_) return;
  {
    const std::lock_guard lock(budget_->mutex_);
    budget_->used_ -= bytes_ - bytes;
  }
  bytes_ = bytes;
  budget_->changed_.notify_all();
}

uint64_t MemoryBudget::limit_locked() const {
  const uint64_t least = capacity_ / 2;
  return held_ < capacity_ - least ? capacity_ - held_ : least;
}

uint64_t MemoryBudget::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_locked();
}

uint64_t MemoryBudget::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

uint64_t MemoryBudget::waiting() const {
  const std::lock_guard lock(mutex_);
  return next_ticket_ - serving_;
}

void MemoryBudget::raise_capacity(uint64_t capacity) {
  {
    const std::lock_guard lock(mutex_);
    if (capacity <= capacity_) return;
    capacity_ = capacity;
  }
  changed_.notify_all();
}

MemoryBudget::Lease MemoryBudget::take(uint64_t bytes) {
  std::unique_lock lock(mutex_);
  const uint64_t ticket = next_ticket_++;
  changed_.wait(lock, [&] {
    if (serving_ != ticket) return false;
    const uint64_t limit = limit_locked();
    return used_ == 0 || (used_ <= limit && bytes <= limit - used_);
  });
  ++serving_;
  used_ += bytes;
  lock.unlock();
  changed_.notify_all();
  return Lease(this, bytes);
}

void MemoryBudget::hold(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  held_ += bytes;
}

void MemoryBudget::give_back(uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    held_ -= bytes;
  }
  changed_.notify_all();
}

MemoryBudget& image_memory() {
  static MemoryBudget budget;
  return budget;
}

}  // namespace vig
