// One pool of memory shared by threads that each need a lot of it for a short time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace vig {

// Counts bytes; it allocates nothing. A thread waits only in take() and must hold no lease then, so
// no two threads can wait for each other. What a caller gets does not depend on other threads:
// any request up to limit() is granted in the end.
class MemoryBudget {
 public:
  // Bytes taken from the budget until it is dropped. Belongs to one thread at a time.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease() { shrink_to(0); }

    uint64_t bytes() const { return bytes_; }
    // Never waits; false when there is no room now.
    bool try_grow(uint64_t more);
    void shrink_to(uint64_t bytes);

   private:
    friend class MemoryBudget;
    Lease(MemoryBudget* budget, uint64_t bytes) : budget_(budget), bytes_(bytes) {}

    MemoryBudget* budget_ = nullptr;
    uint64_t bytes_ = 0;
  };

  explicit MemoryBudget(uint64_t capacity = 0) : capacity_(capacity) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Capacity only grows: leases of the larger size may be waited for.
  void raise_capacity(uint64_t capacity);

  // The most that one lease may have.
  uint64_t limit() const;
  uint64_t used() const;     // by leases
  uint64_t waiting() const;  // threads in take()

  // Waits until there is room, first come first served, so that large requests are not starved. A
  // request above the limit gets the whole budget for itself; refuse it before where that is wrong.
  Lease take(uint64_t bytes);

  // For what is held for long, as an unpacked archive: lowers the limit for all others until
  // give_back, but never below half of the capacity.
  void hold(uint64_t bytes);
  void give_back(uint64_t bytes);

 private:
  uint64_t limit_locked() const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t capacity_;
  uint64_t held_ = 0;         // for long
  uint64_t used_ = 0;         // by leases
  uint64_t next_ticket_ = 0;  // of who asks next
  uint64_t serving_ = 0;      // the ticket whose turn it is
};

// The budget of all image decoders of this process.
MemoryBudget& image_memory();

}  // namespace vig
