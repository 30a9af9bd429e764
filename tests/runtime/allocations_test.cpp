// Running allocates nothing; planning for another size allocates no second set of weights.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include "runtime/allocations.h"
#include "runtime/networks.h"
#include "vig/base/thread_pool.h"
#include "vig/runtime/packed_model.h"
#include "vig/runtime/program.h"
#include "vig/runtime/session_pool.h"

namespace vig::test {
namespace {

// Whatever the heap gives passes through here, so that no compiler can leave an allocation out.
void* volatile sink = nullptr;

void* seen(void* memory) {
  sink = memory;
  return memory;
}

class Allocating : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!counts_allocations()) GTEST_SKIP() << "sanitisers have a heap of their own";
  }
};

// The counter must see every way to the heap, or the tests below prove nothing.
TEST_F(Allocating, EveryWayToTheHeapIsCounted) {
  const auto counted = [](int64_t calls, int64_t bytes, auto&& function) {
    const Allocations taken = allocations_of(function);
    EXPECT_EQ(taken.calls, calls);
    EXPECT_EQ(taken.bytes, bytes);
  };
  counted(0, 0, [] {});
  counted(1, 40, [] { free(seen(malloc(40))); });
  counted(1, 40, [] { free(seen(calloc(4, 10))); });
  counted(2, 100, [] { free(seen(realloc(seen(malloc(40)), 60))); });
  counted(1, 128, [] { free(seen(aligned_alloc(64, 128))); });
  counted(1, 128, [] {
    void* memory = nullptr;
    ASSERT_EQ(posix_memalign(&memory, 64, 128), 0);
    free(seen(memory));
  });
  counted(1, 1, [] { ::operator delete(seen(::operator new(1))); });
  counted(1, 64, [] {
    const auto alignment = std::align_val_t{64};
    ::operator delete(seen(::operator new(64, alignment)), alignment);
  });
  EXPECT_GE(allocations_of([] {
              std::vector<float> block(1000);
              seen(block.data());
            }).bytes,
            4000);
  const Allocations elsewhere =
      allocations_of([] { std::thread([] { free(seen(malloc(12345))); }).join(); });
  EXPECT_GE(elsewhere.bytes, 12345);
  counted(1, 4096, [] {
    void* memory = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    munmap(seen(memory), 4096);
  });
}

// Also inside the engine's own threads.
TEST_F(Allocating, AllocationsOfWorkersAreCounted) {
  const Allocations taken = allocations_of([] {
    ThreadPool(3).run([](int) {
      void* volatile memory = malloc(1000);
      free(memory);
    });
  });
  EXPECT_GE(taken.calls, 3);
  EXPECT_GE(taken.bytes, 3000);
}

TEST_F(Allocating, TheSecondRunTakesNothing) {
  for (const NetworkCase& description : network_cases()) {
    const Network network(description);
    for (int threads : {1, 2, 3}) {
      for (bool profile : {false, true}) {
        Session session =
            network.session({.batch = 3, .threads = threads, .profile = profile, .slots = 2});
        for (int i = 0; i < 3; ++i) set_input(session, i, network.image(i));
        std::copy_n(session.input(0), network.image(0).size(), session.input(0, 1));
        session.run(3);
        for (int images : {3, 1, 2, 3}) {
          EXPECT_EQ(allocations_of([&] { session.run(images); }).calls, 0)
              << description.name << ", " << images << " images, " << threads << " threads";
        }
        EXPECT_EQ(allocations_of([&] { session.run(1, 1); }).calls, 0) << description.name;
        const std::string& output = session.graph().outputs.at(0).name;
        EXPECT_EQ(
            allocations_of([&] { seen(const_cast<float*>(session.output(output, 2))); }).calls, 0);
      }
    }
  }
}

TEST_F(Allocating, AnotherSizeNeedsNoSecondSetOfWeights) {
  const NetworkCase small{"", "vig_s", {{"depth", "2"}, {"image_size", "64"}}, 64, 64};
  NetworkCase other = small;
  other.height = 40;
  other.width = 104;
  const Network network(small);
  const Graph graph = other.graph();
  const size_t weights = network.packed->bytes();
  std::unique_ptr<Session> session;
  const Allocations taken = allocations_of([&] {
    session = std::make_unique<Session>(network.packed, graph, SessionOptions{.threads = 1});
  });
  EXPECT_LT(taken.bytes, static_cast<int64_t>(weights) / 4);
  EXPECT_GE(taken.bytes, static_cast<int64_t>(session->arena_bytes() + session->scratch_bytes()));
  EXPECT_EQ(network.packed->bytes(), weights);
}

// A lowering takes memory of its own, so that a second one shows: packing and planning share the
// first session's.
TEST_F(Allocating, TheFirstSessionLowersItsGraphOnce) {
  const NetworkCase small{"", "vig_s", {{"depth", "2"}, {"image_size", "64"}}, 64, 64};
  const Network network(small);
  const SessionOptions options{.threads = 1, .thread_pool = std::make_shared<ThreadPool>(1)};
  const auto calls = [](auto&& function) { return allocations_of(function).calls; };
  const int64_t lowering = calls([&] { seen(lower(network.graph, {}).calls.data()); });
  ASSERT_GT(lowering, 50);
  const int64_t together = calls([&] { Session(network.graph, network.weights, options); });
  const int64_t apart = calls(
      [&] { Session(PackedModel::make(network.graph, network.weights), network.graph, options); });
  EXPECT_LT(together, apart - lowering / 2);
  EXPECT_GT(together, lowering);
}

// A further session of a pool's size shares the plan of the first.
TEST_F(Allocating, AnotherSessionOfASizeLowersNothing) {
  const NetworkCase small{"", "vig_s", {{"depth", "2"}, {"image_size", "64"}}, 64, 64};
  const Network network(small);
  const int64_t lowering =
      allocations_of([&] { seen(lower(network.graph, {}).calls.data()); }).calls;
  int graphs = 0;
  SessionPool pool(
      network.session({.threads = 1}),
      [&](int, int) {
        ++graphs;
        return network.graph;
      },
      SIZE_MAX);
  const SessionPool::Lease first = pool.take(64, 64, 1);
  std::optional<SessionPool::Lease> second;
  EXPECT_LT(allocations_of([&] { second.emplace(pool.take(64, 64, 1)); }).calls, lowering / 2);
  EXPECT_EQ(graphs, 0);
  EXPECT_EQ((*second)->plan(), first->plan());
}

}  // namespace
}  // namespace vig::test
