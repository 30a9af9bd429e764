#include "vig/base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace vig::test {
namespace {

TEST(ThreadPool, CallsEveryWorkerOnce) {
  for (const int size : {1, 2, 5}) {
    ThreadPool pool(size);
    std::vector<int> calls(static_cast<size_t>(size), 0);
    for (int round = 1; round <= 3; ++round) {
      pool.run([&](int worker) { ++calls[static_cast<size_t>(worker)]; });
      EXPECT_EQ(calls, std::vector<int>(static_cast<size_t>(size), round));
    }
  }
}

// Callers on several threads: no work begins before the work of another has ended.
TEST(ThreadPool, CallersTakeTurns) {
  constexpr int kCallers = 4, kRuns = 200;
  for (const int size : {1, 3}) {
    ThreadPool pool(size);
    std::atomic<int> working{0}, waiting{kCallers};
    std::atomic<bool> mixed{false};
    int runs = 0;  // changed by worker 0 alone, one run at a time
    std::vector<std::thread> callers;
    for (int caller = 0; caller < kCallers; ++caller) {
      callers.emplace_back([&] {
        waiting.fetch_sub(1);
        while (waiting.load() > 0) std::this_thread::yield();
        for (int run = 0; run < kRuns; ++run) {
          pool.run([&](int worker) {
            if (worker == 0 && working.fetch_add(1) != 0) mixed = true;
            pool.barrier();
            if (worker == 0) ++runs;
            pool.barrier();
            if (worker == 0) working.fetch_sub(1);
          });
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_FALSE(mixed);
    EXPECT_EQ(runs, kCallers * kRuns);
  }
}

TEST(ThreadPool, WorksInAForkedProcess) {
  ThreadPool pool(3);
  const auto workers = [&] {
    const ThreadPool::Share share(pool);
    std::atomic<int> count{0};
    pool.run([&](int) {
      ++count;
      pool.barrier();
    });
    return count.load();
  };
  const ThreadPool::Share parents(pool);
  EXPECT_EQ(workers(), 3);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    const bool alone = ThreadPool::Share(pool).alone();
    ::_exit(!alone && workers() == 3 && workers() == 3 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(workers(), 3);
}

// A child has none of the threads, so there is no thread to wait for.
TEST(ThreadPool, EndsInAForkedProcess) {
  auto pool = std::make_unique<ThreadPool>(3);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    pool.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The child starts afresh, no matter what the parent's threads were doing.
TEST(ThreadPool, WorksInAProcessForkedDuringARun) {
  ThreadPool pool(3);
  std::atomic<int> begun{0};
  std::atomic<bool> forked{false};
  std::thread caller([&] {
    pool.run([&](int worker) {
      ++begun;
      while (worker == 0 && !forked) std::this_thread::yield();
    });
  });
  while (begun < 3) std::this_thread::yield();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    std::atomic<int> calls{0};
    for (int round = 0; round < 3; ++round) pool.run([&](int) { ++calls; });
    ::_exit(calls == 9 ? 0 : 1);
  }
  forked = true;
  caller.join();
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// As soon as half as many callers as threads are active, others run without the pool.
TEST(ThreadPool, ManyCallersAreAlone) {
  for (const int size : {1, 2, 3, 4, 5}) {
    ThreadPool pool(size);
    const int together = size == 1 ? 10 : (size + 1) / 2;
    for (int round = 0; round < 2; ++round) {
      std::vector<std::unique_ptr<ThreadPool::Share>> shares;
      for (int caller = 0; caller < 10; ++caller) {
        shares.push_back(std::make_unique<ThreadPool::Share>(pool));
        EXPECT_EQ(shares.back()->alone(), caller >= together) << size << " threads, " << caller;
      }
      shares.front().reset();  // the others fill the machine still
      EXPECT_EQ(ThreadPool::Share(pool).alone(), size > 1);
    }
    EXPECT_FALSE(ThreadPool::Share(pool).alone());
  }
}

}  // namespace
}  // namespace vig::test
