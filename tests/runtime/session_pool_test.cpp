// Sessions kept by size: shared weights and threads, a limit of memory, callers on many threads.
#include "vig/runtime/session_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "runtime/networks.h"

namespace vig::test {
namespace {

class Pool : public ::testing::Test {
 protected:
  static Graph graph(int height, int width) {
    NetworkCase description = network_case("test_vig");
    description.height = height;
    description.width = width;
    return description.graph();
  }
  Session first(const SessionOptions& options) const {
    return Session(network_.graph, network_.weights, options);
  }
  // The first session is 64 x 64 with a batch of 1.
  std::unique_ptr<SessionPool> make(size_t max_bytes) const {
    return std::make_unique<SessionPool>(first({.threads = 2}), graph, max_bytes);
  }
  size_t bytes_of(int height, int width) const {
    return Session(network_.packed, graph(height, width), {.threads = 2}).bytes();
  }

  const Network network_{network_case("test_vig")};
};

TEST_F(Pool, KeepsSessionsBySizeAndBatch) {
  const auto pool = make(SIZE_MAX);
  const Session* const first = &*pool->take(64, 64, 1);
  EXPECT_EQ(pool->sessions(), 1u);
  EXPECT_EQ(&*pool->take(64, 64, 1), first);
  EXPECT_NE(&*pool->take(64, 64, 2), first);
  EXPECT_EQ(&*pool->take(64, 64, 1), first) << "not the larger one, which was used last";
  EXPECT_NE(&*pool->take(32, 64, 1), first);
  EXPECT_NE(&*pool->take(64, 32, 1), first);
  EXPECT_EQ(pool->sessions(), 4u);
  const SessionPool::Lease session = pool->take(64, 32, 1);
  EXPECT_EQ(pool->sessions(), 4u);
  EXPECT_EQ(session->graph().nodes.front().grid.height, 64);
  EXPECT_EQ(session->graph().nodes.front().grid.width, 32);
  EXPECT_EQ(session->model().get(), &pool->model());
  EXPECT_EQ(session->thread_pool().get(), &pool->thread_pool());
  EXPECT_EQ(session->threads(), 2);
}

// What a session does is made once for each size; further ones take memory alone.
TEST_F(Pool, SessionsOfOneSizeShareTheirPlan) {
  std::atomic<int> graphs = 0;
  SessionPool pool(
      first({.threads = 2}),
      [&](int height, int width) {
        ++graphs;
        return graph(height, width);
      },
      SIZE_MAX);
  const SessionPool::Lease a = pool.take(64, 32, 1), b = pool.take(64, 32, 1);
  EXPECT_NE(&*a, &*b);
  EXPECT_EQ(graphs, 1) << "the second graph was built and lowered again";
  EXPECT_EQ(a->plan(), b->plan());
  EXPECT_NE(a->input(0), b->input(0));
  EXPECT_EQ(a->bytes(), b->bytes());
  // Both at a time, each with an image of its own.
  const auto floats = static_cast<size_t>(64 * 32 * 3);
  std::fill_n(a->input(0), floats, 0.5f);
  std::fill_n(b->input(0), floats, -1.0f);
  a->run(1);
  const std::vector<float> before(a->output("logits", 0), a->output("logits", 0) + 4);
  b->run(1);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), a->output("logits", 0)));
  EXPECT_FALSE(std::equal(before.begin(), before.end(), b->output("logits", 0)));
  std::fill_n(b->input(0), floats, 0.5f);
  b->run(1);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), b->output("logits", 0)));
}

// What the first session can do, all can.
TEST_F(Pool, SessionsHaveTheSlotsAndTheKeptValuesOfTheFirst) {
  const int node = network_.graph.find_module("blocks.0");
  SessionPool pool(first({.threads = 1, .keep = {node}, .slots = 2}), graph, SIZE_MAX, {node});
  const SessionPool::Lease session = pool.take(32, 48, 1);
  EXPECT_EQ(session->slots(), 2);
  run_alone(*session, image(32, 48, 1));
  EXPECT_NO_THROW(session->value(node, 0));
}

TEST_F(Pool, GivesASessionToOneCallerAtATime) {
  const auto pool = make(SIZE_MAX);
  const SessionPool::Lease a = pool->take(64, 64, 1);
  {
    const SessionPool::Lease b = pool->take(64, 64, 1);
    EXPECT_NE(&*a, &*b);
    EXPECT_EQ(pool->bytes(), a->bytes() + b->bytes());
  }
  EXPECT_EQ(pool->sessions(), 2u);
}

TEST_F(Pool, DropsTheLeastRecentlyUsed) {
  const size_t limit = bytes_of(64, 64) + bytes_of(48, 64) + bytes_of(32, 64);
  const auto pool = make(limit);
  const Session* const first = &*pool->take(64, 64, 1);
  pool->take(48, 64, 1);
  pool->take(32, 64, 1);
  EXPECT_EQ(pool->sessions(), 3u);
  EXPECT_EQ(pool->bytes(), limit);
  EXPECT_EQ(&*pool->take(64, 64, 1), first);  // 48 x 64 is now the oldest
  pool->take(16, 64, 1);
  EXPECT_EQ(pool->sessions(), 3u);
  EXPECT_LE(pool->bytes(), limit);
  EXPECT_EQ(&*pool->take(64, 64, 1), first);
  const size_t before = pool->bytes();
  pool->take(32, 64, 1);
  EXPECT_EQ(pool->bytes(), before) << "32 x 64 was dropped";
  pool->take(48, 64, 1);
  EXPECT_NE(pool->bytes(), before) << "48 x 64 was kept";
}

TEST_F(Pool, NeverDropsASessionInUse) {
  const auto pool = make(0);
  const Values pixels = network_.image(1);
  Session alone = network_.session({.threads = 1});
  const Values expected = run_alone(alone, pixels);
  {
    const SessionPool::Lease session = pool->take(64, 64, 1);
    set_input(*session, 0, pixels);
    EXPECT_EQ(pool->sessions(), 1u);
    pool->take(48, 64, 1);  // dropped when it comes back
    EXPECT_EQ(pool->sessions(), 1u);
    session->run(1);
    expect_same_bits(read_outputs(*session, 0), expected, "while others come and go");
  }
  EXPECT_EQ(pool->sessions(), 0u);
  EXPECT_EQ(pool->bytes(), 0u);
}

TEST_F(Pool, MakesRoomBeforeItTakesMemory) {
  const size_t limit = bytes_of(96, 96);
  const auto pool = make(limit);
  pool->take(32, 32, 1);
  pool->take(16, 16, 1);
  const SessionPool::Lease large = pool->take(96, 96, 1);
  EXPECT_EQ(pool->sessions(), 1u);
  EXPECT_EQ(pool->bytes(), limit);
}

TEST_F(Pool, AFailureLeavesItAsItWas) {
  const auto pool = make(SIZE_MAX);
  EXPECT_ANY_THROW(pool->take(1, 1, 1));  // too small for the network
  EXPECT_ANY_THROW(pool->take(64, 64, 0));
  EXPECT_EQ(pool->sessions(), 1u);
  pool->take(64, 64, 1);
}

TEST_F(Pool, ServesManyThreadsToTheSameBits) {
  constexpr int kUsers = 4, kRuns = 12;
  const std::vector<std::pair<int, int>> sizes = {{64, 64}, {32, 48}, {75, 43}, {16, 16}};
  std::vector<Values> pixels, expected;
  for (const auto& [height, width] : sizes) {
    pixels.push_back(image(height, width, 7));
    Session alone(network_.packed, graph(height, width), {.threads = 1});
    expected.push_back(run_alone(alone, pixels.back()));
  }
  for (const size_t limit : {size_t{0}, bytes_of(64, 64) + bytes_of(32, 48), SIZE_MAX}) {
    const auto pool = make(limit);
    std::vector<std::vector<Values>> results(kUsers);
    std::vector<std::thread> threads;
    for (int t = 0; t < kUsers; ++t) {
      threads.emplace_back([&, t] {
        for (int run = 0; run < kRuns; ++run) {
          const size_t which = static_cast<size_t>(t + run) % sizes.size();
          const SessionPool::Lease session = pool->take(sizes[which].first, sizes[which].second, 1);
          results[static_cast<size_t>(t)].push_back(run_alone(*session, pixels[which]));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (int t = 0; t < kUsers; ++t) {
      for (int run = 0; run < kRuns; ++run) {
        expect_same_bits(results[static_cast<size_t>(t)][static_cast<size_t>(run)],
                         expected[static_cast<size_t>(t + run) % sizes.size()],
                         "thread " + std::to_string(t) + ", run " + std::to_string(run));
      }
    }
    EXPECT_LE(pool->bytes(), limit);
  }
}

}  // namespace
}  // namespace vig::test
