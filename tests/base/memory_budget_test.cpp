#include "vig/base/memory_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace vig {
namespace {

TEST(MemoryBudget, LeasesAddUpAndComeBack) {
  MemoryBudget budget(100);
  MemoryBudget::Lease a = budget.take(60);
  EXPECT_TRUE(a.try_grow(30));
  EXPECT_FALSE(a.try_grow(11));
  EXPECT_EQ(a.bytes(), 90u);
  EXPECT_EQ(budget.used(), 90u);
  a.shrink_to(40);
  MemoryBudget::Lease b = budget.take(60);
  EXPECT_FALSE(b.try_grow(1));
  a = std::move(b);  // gives back what it had
  EXPECT_EQ(budget.used(), 60u);
  a = {};
  EXPECT_EQ(budget.used(), 0u);
}

TEST(MemoryBudget, CapacityOnlyGrows) {
  MemoryBudget budget;
  EXPECT_EQ(budget.limit(), 0u);
  budget.raise_capacity(100);
  budget.raise_capacity(50);
  EXPECT_EQ(budget.limit(), 100u);
}

TEST(MemoryBudget, WhatIsHeldForLongLowersTheLimitToHalfAtMost) {
  MemoryBudget budget(100);
  budget.hold(30);
  EXPECT_EQ(budget.limit(), 70u);
  MemoryBudget::Lease lease = budget.take(70);
  EXPECT_FALSE(lease.try_grow(1));
  budget.hold(1000);
  EXPECT_EQ(budget.limit(), 50u);
  budget.give_back(1000);
  budget.give_back(30);
  EXPECT_EQ(budget.limit(), 100u);
  EXPECT_TRUE(lease.try_grow(30));
}

TEST(MemoryBudget, MoreThanTheLimitComesAlone) {
  MemoryBudget budget(100);
  MemoryBudget::Lease lease = budget.take(500);
  EXPECT_EQ(lease.bytes(), 500u);
}

// A small request that would fit comes after the large one that asked before it.
TEST(MemoryBudget, FirstComeFirstServed) {
  MemoryBudget budget(100);
  MemoryBudget::Lease held = budget.take(60);
  std::string order;  // written while everything else waits
  std::atomic<bool> overtaken = false;
  std::jthread large([&] {
    const MemoryBudget::Lease lease = budget.take(95);
    order += "large ";
  });
  while (budget.waiting() < 1) std::this_thread::yield();
  std::jthread small([&] {
    const MemoryBudget::Lease lease = budget.take(10);
    overtaken = true;
    order += "small ";
  });
  while (budget.waiting() < 2 && !overtaken) std::this_thread::yield();
  EXPECT_FALSE(overtaken);
  held.shrink_to(0);
  large.join();
  small.join();
  EXPECT_EQ(order, "large small ");
}

// What is held may lower the limit below what leases have.
TEST(MemoryBudget, NothingFitsWhereTheLimitIsExceeded) {
  MemoryBudget budget(100);
  MemoryBudget::Lease lease = budget.take(80);
  budget.hold(50);
  EXPECT_EQ(budget.limit(), 50u);
  EXPECT_FALSE(lease.try_grow(1));
  EXPECT_TRUE(lease.try_grow(0));
  std::atomic<bool> taken = false;
  std::jthread other([&] {
    const MemoryBudget::Lease small = budget.take(1);
    taken = true;
  });
  while (budget.waiting() < 1 && !taken) std::this_thread::yield();
  EXPECT_FALSE(taken);
  lease.shrink_to(49);
  other.join();
  EXPECT_FALSE(MemoryBudget::Lease().try_grow(1));
}

TEST(MemoryBudget, MoreRoomWakesWhoWaits) {
  MemoryBudget budget(100);
  const MemoryBudget::Lease lease = budget.take(60);
  budget.hold(30);
  const auto wait = [&](uint64_t bytes) {
    std::jthread other([&budget, bytes] { const auto taken = budget.take(bytes); });
    while (budget.waiting() < 1) std::this_thread::yield();
    return other;
  };
  std::jthread first = wait(40);
  budget.give_back(30);
  first.join();
  std::jthread second = wait(100);
  budget.raise_capacity(160);
  second.join();
  EXPECT_EQ(budget.used(), 60u);
}

// Threads that drop what they have when they cannot grow all finish, within the limit.
TEST(MemoryBudget, EveryRequestIsGrantedInTheEnd) {
  MemoryBudget budget(100);
  std::atomic<uint64_t> used = 0, most = 0, done = 0;
  const auto work = [&](uint64_t need) {
    for (int round = 0; round < 200; ++round) {
      for (uint64_t first = 5;;) {
        MemoryBudget::Lease lease = budget.take(first);
        if (lease.bytes() < need && !lease.try_grow(need - lease.bytes())) {
          first = need;
          continue;
        }
        const uint64_t now = used += need;
        for (uint64_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        used -= need;
        break;
      }
      ++done;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (const uint64_t need : {100, 70, 60, 50, 30, 20, 10, 5}) threads.emplace_back(work, need);
  }
  EXPECT_EQ(done, 8u * 200);
  EXPECT_LE(most, 100u);
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace vig
