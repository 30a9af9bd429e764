// Which works run together, without luck of timing: batches wait until the test lets them go.
#include "vig/serve/batch_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <semaphore>

namespace vig {
namespace {

using Queue = BatchQueue<int>;
using namespace std::chrono_literals;

// Runs every batch only when the test has let it.
struct HeldQueue {
  explicit HeldQueue(const BatchQueueOptions& options)
      : queue(options, [this](std::vector<Queue::Entry>& batch) {
          started.release();
          go.acquire();
          const std::lock_guard lock(mutex);
          std::vector<int> works;
          for (const auto& entry : batch) works.push_back(entry.work);
          batches.push_back(works);
          done.release();
        }) {}

  bool add(const std::string& key, int work, size_t images = 1) {
    Queue::Entry entry{key, images, work};
    return queue.add(entry);
  }
  std::counting_semaphore<100> started{0}, go{0}, done{0};
  std::mutex mutex;
  std::vector<std::vector<int>> batches;
  Queue queue;
};

TEST(BatchQueue, WhatWaitsWhileOneRunsBecomesABatch) {
  HeldQueue held({.most_waiting = 100, .batch = 3, .wait = 1h, .workers = 1});
  held.add("a", 0);
  held.started.acquire();  // alone, without waiting for others: nothing else ran
  for (int i = 1; i <= 7; ++i) held.add(i == 2 ? "b" : "a", i);
  EXPECT_EQ(held.queue.waiting(), 7u);
  held.go.release(4);
  for (int i = 0; i < 4; ++i) held.done.acquire();
  EXPECT_EQ(held.batches, (std::vector<std::vector<int>>{{0}, {1, 3, 4}, {2}, {5, 6, 7}}));
  EXPECT_EQ(held.queue.waiting(), 0u);
}

TEST(BatchQueue, IsBounded) {
  HeldQueue held({.most_waiting = 4, .batch = 8, .wait = 1h, .workers = 1});
  held.add("a", 0);
  held.started.acquire();
  EXPECT_TRUE(held.add("a", 1, 3));
  EXPECT_FALSE(held.add("a", 2, 2));
  EXPECT_FALSE(held.queue.full());
  EXPECT_TRUE(held.add("a", 3, 1));
  EXPECT_TRUE(held.queue.full());
  EXPECT_FALSE(held.add("a", 4, 1));
  held.go.release(2);
  held.done.acquire();
  held.done.acquire();
  EXPECT_EQ(held.batches, (std::vector<std::vector<int>>{{0}, {1, 3}}));
}

TEST(BatchQueue, OneWorkMayBeLargerThanABatch) {
  HeldQueue held({.most_waiting = 100, .batch = 2, .wait = 1h, .workers = 1});
  held.add("a", 0);
  held.started.acquire();
  held.add("a", 1, 5);
  held.add("a", 2, 1);
  held.go.release(3);
  for (int i = 0; i < 3; ++i) held.done.acquire();
  EXPECT_EQ(held.batches, (std::vector<std::vector<int>>{{0}, {1}, {2}}));
}

TEST(BatchQueue, ASecondWorkerWaitsForOthersNoLongerThanAllowed) {
  HeldQueue held({.most_waiting = 100, .batch = 2, .wait = 1ms, .workers = 2});
  held.add("a", 0);
  held.started.acquire();
  held.add("a", 1);
  held.started.acquire();  // although the batch is not full and the first one still runs
  held.go.release(2);
}

TEST(BatchQueue, ASecondWorkerStartsAtOnceWhenItsBatchIsFull) {
  HeldQueue held({.most_waiting = 100, .batch = 2, .wait = 1h, .workers = 2});
  held.add("a", 0);
  held.started.acquire();
  held.add("a", 1);
  held.add("a", 2);
  held.started.acquire();
  held.go.release(2);
}

// However long it may wait for others: they would come no sooner.
TEST(BatchQueue, ASecondWorkerStartsWhenNothingElseRuns) {
  for (int round = 0; round < 10; ++round) {
    HeldQueue held({.most_waiting = 100, .batch = 2, .wait = 1h, .workers = 2});
    held.add("a", 0);
    held.started.acquire();
    held.add("a", 1);
    std::this_thread::sleep_for(1ms);  // so that the second worker waits already, most times
    held.go.release(2);
    held.done.acquire();
    ASSERT_TRUE(held.done.try_acquire_for(30s));
    EXPECT_EQ(held.batches, (std::vector<std::vector<int>>{{0}, {1}}));
  }
}

TEST(BatchQueue, AsManyBatchesRunAsThereAreWorkers) {
  HeldQueue held({.most_waiting = 100, .batch = 2, .wait = 1h, .workers = 4});
  held.add("a", 0);
  held.started.acquire();
  for (int i = 1; i <= 6; ++i) held.add(i <= 2 || i > 4 ? "a" : "b", i);
  for (int i = 0; i < 3; ++i) held.started.acquire();  // two of a, of b, and of a again
  EXPECT_EQ(held.queue.waiting(), 0u);
  held.go.release(4);
}

// A worker that gathers a batch of what is dropped then looks at what has come since.
TEST(BatchQueue, WhatComesAfterDroppedWorkIsNotForgotten) {
  HeldQueue held({.most_waiting = 100, .batch = 2, .wait = 1h, .workers = 2});
  held.add("a", 0);
  held.started.acquire();
  held.add("a", 1);
  held.queue.drop();
  held.add("b", 2);
  held.add("b", 3);
  held.started.acquire();
  held.go.release(2);
  held.done.acquire();
  held.done.acquire();
  EXPECT_EQ(held.batches.size(), 2u);
}

// A clock that the test moves.
struct TestClock {
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<TestClock>;
  static constexpr bool is_steady = true;
  static time_point now() { return time_point(hours_passed.load() * 1h); }
  static inline std::atomic<int> hours_passed = 0;
};

// Both workers are busy when the work arrives. The one that becomes free hours later does not wait
// for others again, although the other one still runs.
TEST(BatchQueue, TheWaitForOthersBeginsWhenTheWorkArrives) {
  using ClockQueue = BatchQueue<int, TestClock>;
  using Semaphore = std::counting_semaphore<2>;
  std::array<Semaphore, 3> started = {Semaphore(0), Semaphore(0), Semaphore(0)};
  std::array<Semaphore, 3> go = {Semaphore(0), Semaphore(0), Semaphore(0)};
  ClockQueue queue({.most_waiting = 100, .batch = 8, .wait = 1h, .workers = 2},
                   [&](std::vector<ClockQueue::Entry>& batch) {
                     const auto work = static_cast<size_t>(batch.front().work);
                     started[work].release();
                     go[work].acquire();
                   });
  const auto add = [&](int work, size_t images) {
    ClockQueue::Entry entry{"a", images, work};
    EXPECT_TRUE(queue.add(entry));
  };
  add(0, 8);  // full batches, which do not wait
  started[0].acquire();
  add(1, 8);
  started[1].acquire();
  add(2, 1);
  TestClock::hours_passed += 2;
  go[0].release();
  EXPECT_TRUE(started[2].try_acquire_for(30s)) << "the wait began when the worker became free";
  for (auto& one : go) one.release();
}

// Works in the order in which they begin. Each ends when the test lets it.
struct StartedQueue {
  using Semaphore = std::counting_semaphore<2>;

  explicit StartedQueue(int workers)
      : queue({.most_waiting = 100, .batch = 1, .wait = {}, .workers = workers},
              [this](std::vector<Queue::Entry>& batch) {
                const int work = batch.front().work;
                {
                  const std::lock_guard lock(mutex);
                  order.push_back(work);
                }
                started.release();
                ends[static_cast<size_t>(work)].acquire();
              }) {}
  ~StartedQueue() {
    for (auto& one : ends) one.release();
  }

  void add(int work, bool large) {
    Queue::Entry entry{large ? "large" : "small", 1, work, large};
    EXPECT_TRUE(queue.add(entry));
  }
  void end(int work) { ends[static_cast<size_t>(work)].release(); }
  // When one more has begun.
  std::vector<int> next() {
    EXPECT_TRUE(started.try_acquire_for(30s));
    const std::lock_guard lock(mutex);
    return order;
  }

  std::array<Semaphore, 6> ends = {Semaphore(0), Semaphore(0), Semaphore(0),
                                   Semaphore(0), Semaphore(0), Semaphore(0)};
  std::counting_semaphore<100> started{0};
  std::mutex mutex;
  std::vector<int> order;
  Queue queue;
};

TEST(BatchQueue, LargeWorksLeaveAWorkerToTheOthers) {
  using Order = std::vector<int>;
  StartedQueue held(3);
  held.add(0, true);
  EXPECT_EQ(held.next(), (Order{0}));
  held.add(1, true);
  EXPECT_EQ(held.next(), (Order{0, 1}));
  held.add(2, true);
  held.add(3, true);
  held.add(4, false);
  EXPECT_EQ(held.next(), (Order{0, 1, 4}));
  EXPECT_EQ(held.queue.waiting(), 2u);
  held.end(4);
  held.add(5, false);
  EXPECT_EQ(held.next(), (Order{0, 1, 4, 5})) << "the worker of small works stays theirs";
  held.end(1);
  EXPECT_EQ(held.next(), (Order{0, 1, 4, 5, 2}));
}

TEST(BatchQueue, OneWorkerRunsLargeWorksToo) {
  StartedQueue held(1);
  held.add(0, true);
  held.add(1, true);
  held.add(2, false);
  for (const int work : {0, 1, 2}) {
    held.end(work);
    held.next();
  }
  EXPECT_EQ(held.order, (std::vector<int>{0, 1, 2}));
}

TEST(BatchQueue, TheEndRunsWhatWaits) {
  std::atomic<int> sum = 0;
  {
    Queue queue({.most_waiting = 1000, .batch = 4, .wait = 1h, .workers = 2},
                [&](std::vector<Queue::Entry>& batch) {
                  for (const auto& entry : batch) sum += entry.work;
                });
    for (int i = 1; i <= 100; ++i) {
      Queue::Entry entry{std::to_string(i % 3), 1, i, i % 3 == 0};
      EXPECT_TRUE(queue.add(entry));
    }
  }
  EXPECT_EQ(sum, 5050);
}

TEST(BatchQueue, DroppedWorkIsNotRun) {
  HeldQueue held({.most_waiting = 100, .batch = 2, .wait = 1h, .workers = 1});
  held.add("a", 0);
  held.started.acquire();
  held.add("a", 1);
  held.queue.drop();
  EXPECT_EQ(held.queue.waiting(), 0u);
  held.add("a", 2);
  held.go.release(2);
  held.done.acquire();
  held.done.acquire();
  EXPECT_EQ(held.batches, (std::vector<std::vector<int>>{{0}, {2}}));
}

}  // namespace
}  // namespace vig
