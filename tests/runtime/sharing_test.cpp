// One set of packed weights behind many sessions: of several sizes, and on several threads at once.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/networks.h"
#include "vig/base/thread_pool.h"

namespace vig::test {
namespace {

TEST(Sharing, WeightsPackedForOneSizeServeEveryOther) {
  for (const char* name : {"test_vig", "test_vig_h", "gla_t_position", "layer_scale"}) {
    NetworkCase description = network_case(name);
    const Network first(description);
    const std::pair<int, int> sizes[] = {{64, 64}, {16, 16}, {75, 43}, {32, 160}, {96, 96}};
    for (const auto& [height, width] : sizes) {
      description.height = height;
      description.width = width;
      const Network own(description);
      const Values pixels = own.image(1);
      Session own_session = own.session({.threads = 1});
      Session shared(first.packed, own.graph, {.threads = 2});
      expect_same_bits(
          run_alone(shared, pixels), run_alone(own_session, pixels),
          std::string(name) + " at " + std::to_string(height) + " x " + std::to_string(width));
      EXPECT_EQ(first.packed->bytes(), own.packed->bytes());
    }
  }
}

TEST(Sharing, SessionsOutliveTheirMakers) {
  std::unique_ptr<Session> session;
  Values pixels, expected;
  {
    const Network network(network_case("test_vig"));
    pixels = network.image(1);
    Session other = network.session({.threads = 1});
    expected = run_alone(other, pixels);
    session = std::make_unique<Session>(network.session({.threads = 2}));
  }
  Session moved = std::move(*session);
  session.reset();
  expect_same_bits(run_alone(moved, pixels), expected, "after the network is gone");
}

// A caller with threads of its own, each with a session.
TEST(Sharing, SessionsInsideACallersOwnPool) {
  const Network network(network_case("test_vig"));
  const Values pixels = network.image(1);
  Session alone = network.session({.threads = 1});
  const Values expected = run_alone(alone, pixels);
  for (int threads : {1, 2}) {
    std::vector<Values> results(3);
    ThreadPool(3).run([&](int i) {
      Session session = network.session({.threads = threads});
      for (int run = 0; run <= i; ++run) results[i] = run_alone(session, pixels);
    });
    for (const Values& result : results) expect_same_bits(result, expected, "in a pool");
  }
}

struct Job {
  int height = 0, width = 0, threads = 1, batch = 1;
};

// On threads of their own, or on those of a pool they share; the last `alone` jobs in their
// caller's thread.
void run_jobs_at_once(const NetworkCase& base, const std::vector<Job>& jobs,
                      const std::shared_ptr<ThreadPool>& pool = nullptr, size_t alone = 0) {
  constexpr int kRuns = 12;
  const Network network(base);
  std::vector<Graph> graphs;
  std::vector<std::vector<Values>> pixels, expected;  // [job][image]
  for (const Job& job : jobs) {
    NetworkCase description = base;
    description.height = job.height;
    description.width = job.width;
    graphs.push_back(description.graph());
    Session own(network.packed, graphs.back(), {.threads = 1});
    pixels.emplace_back();
    expected.emplace_back();
    for (int i = 0; i < 3; ++i) {
      pixels.back().push_back(image(job.height, job.width, 50 + i));
      expected.back().push_back(run_alone(own, pixels.back().back()));
    }
  }
  // Collected per thread and judged afterwards: failures are reported by one thread.
  std::vector<std::vector<Values>> results(jobs.size());
  std::atomic<int> waiting{static_cast<int>(jobs.size())};
  std::vector<std::thread> workers;
  for (size_t j = 0; j < jobs.size(); ++j) {
    workers.emplace_back([&, j] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      Session session(network.packed, graphs[j],
                      {.batch = jobs[j].batch,
                       .threads = pool == nullptr ? jobs[j].threads : 0,
                       .thread_pool = pool});
      for (int run = 0; run < kRuns; ++run) {
        const int last = jobs[j].batch - 1;
        for (int i = 0; i < last; ++i) set_input(session, i, pixels[j][(run + 1) % 3]);
        set_input(session, last, pixels[j][run % 3]);
        session.run(jobs[j].batch, 0, j + alone >= jobs.size());
        results[j].push_back(read_outputs(session, last));
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (size_t j = 0; j < jobs.size(); ++j) {
    for (int run = 0; run < kRuns; ++run) {
      expect_same_bits(results[j][run], expected[j][run % 3],
                       "job " + std::to_string(j) + ", run " + std::to_string(run));
    }
  }
}

TEST(Sharing, SessionsOnSeveralThreadsAtOnce) {
  run_jobs_at_once(network_case("test_vig"), {{64, 64, 1, 1},
                                              {64, 64, 2, 1},
                                              {75, 43, 1, 2},
                                              {32, 96, 3, 1},
                                              {64, 64, 1, 3},
                                              {16, 16, 2, 2}});
}

TEST(Sharing, SessionsOfOnePoolOnSeveralThreadsAtOnce) {
  for (const int size : {1, 2, 3}) {
    const auto pool = std::make_shared<ThreadPool>(size);
    run_jobs_at_once(network_case("test_vig"),
                     {{64, 64, 0, 1}, {75, 43, 0, 2}, {64, 64, 0, 3}, {16, 16, 0, 2}}, pool);
    EXPECT_EQ(pool.use_count(), 1);  // sessions hold it for as long as they live
  }
}

// The plan is one for several threads, of which one does all.
TEST(Sharing, SessionsOfOnePoolAlone) {
  for (const char* name : {"test_vig", "test_vig_h", "gla_t_position", "layer_scale"}) {
    const NetworkCase description = network_case(name);
    const Network network(description);
    const Values pixels = network.image(1);
    Session expected = network.session({.threads = 1});
    for (const int threads : {1, 2, 5}) {
      Session session = network.session({.batch = 2, .threads = threads});
      set_input(session, 0, pixels);
      set_input(session, 1, network.image(2));
      for (const bool alone : {true, false, true}) {
        session.run(2, 0, alone);
        expect_same_bits(read_outputs(session, 0), run_alone(expected, pixels), name);
      }
    }
  }
}

TEST(Sharing, SessionsAloneBesideThoseOfThePool) {
  for (const size_t alone : {1, 2, 4}) {
    run_jobs_at_once(network_case("test_vig"),
                     {{64, 64, 0, 1}, {75, 43, 0, 2}, {64, 64, 0, 3}, {16, 16, 0, 2}},
                     std::make_shared<ThreadPool>(3), alone);
  }
}

TEST(Sharing, HierarchicalSessionsOnSeveralThreadsAtOnce) {
  run_jobs_at_once(network_case("test_vig_h"),
                   {{64, 64, 2, 1}, {33, 70, 1, 1}, {64, 64, 1, 2}, {96, 32, 2, 2}});
}

}  // namespace
}  // namespace vig::test
