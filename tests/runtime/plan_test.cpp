// Where things lie: nothing alive is ever overwritten. Lifetimes are worked out anew here.
#include "vig/runtime/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/networks.h"
#include "vig/graph/builder.h"
#include "vig/kernels/attention.h"
#include "vig/kernels/gemm.h"
#include "vig/runtime/regions.h"

namespace vig::test {
namespace {

// ---- placing ----

bool alive_together(const Lifetime& a, const Lifetime& b) {
  for (int time = a.first; time <= a.last; ++time) {
    if (time >= b.first && time <= b.last) return true;
  }
  return false;
}

bool overlap(int64_t a, int64_t a_bytes, int64_t b, int64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

void check_placed(const std::vector<Lifetime>& blocks, int64_t total) {
  int64_t sum = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_GE(blocks[i].offset, 0);
    EXPECT_EQ(blocks[i].offset % 64, 0) << "a block begins a cache line";
    EXPECT_LE(blocks[i].offset + blocks[i].bytes, total);
    sum += (blocks[i].bytes + 63) / 64 * 64;
    for (size_t j = 0; j < i; ++j) {
      if (!alive_together(blocks[i], blocks[j])) continue;
      EXPECT_FALSE(overlap(blocks[i].offset, blocks[i].bytes, blocks[j].offset, blocks[j].bytes))
          << "blocks " << i << " and " << j;
    }
  }
  EXPECT_LE(total, sum) << "more than everything side by side";
}

TEST(PlaceLifetimes, RandomBlocksNeverOverlapWhileAlive) {
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 2000; ++round) {
    std::vector<Lifetime> blocks(static_cast<size_t>(below(25)));
    const int span = 1 + below(12);
    for (Lifetime& block : blocks) {
      block.first = below(span) - 1;  // -1: there before the first call
      block.last = block.first + below(span);
      block.bytes = below(4) == 0 ? below(12) : below(20000);
      block.offset = 12345;  // must not matter
    }
    check_placed(blocks, place_lifetimes(blocks));
    if (HasFailure()) FAIL() << "in round " << round;
  }
}

TEST(PlaceLifetimes, MemoryIsUsedAgain) {
  // A chain: each block lives with its neighbours alone, so two places are enough.
  std::vector<Lifetime> chain;
  for (int i = 0; i < 20; ++i) chain.push_back({i, i + 1, 640, 0});
  const int64_t total = place_lifetimes(chain);
  check_placed(chain, total);
  EXPECT_EQ(total, 1280);
}

TEST(PlaceLifetimes, NothingToPlaceTakesNothing) {
  std::vector<Lifetime> none;
  EXPECT_EQ(place_lifetimes(none), 0);
}

// ---- whole plans ----

struct Alive {
  int value = -1;
  int64_t offset = 0, bytes = 0;
};

void expect_apart(const std::vector<Alive>& alive, const std::string& where) {
  for (size_t i = 0; i < alive.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(overlap(alive[i].offset, alive[i].bytes, alive[j].offset, alive[j].bytes))
          << "values " << alive[i].value << " and " << alive[j].value << " in " << where;
    }
  }
}

struct Uses {
  std::vector<int> made;                // call that makes each value, -1 for the image
  std::vector<std::vector<int>> reads;  // calls that read it
  std::vector<int> region;              // of each call, the first of its passes
  std::vector<int> last_region;         // and the last
};

Uses uses_of(const Plan& plan) {
  Uses uses;
  uses.made.assign(plan.program.values.size(), -1);
  uses.reads.resize(plan.program.values.size());
  uses.region.assign(plan.program.calls.size(), -1);
  uses.last_region.assign(plan.program.calls.size(), -1);
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    const Region& region = plan.regions[r];
    const auto use = [&](int s, bool again) {
      uses.last_region[s] = static_cast<int>(r);
      EXPECT_EQ(uses.region[s], again ? static_cast<int>(r) - 1 : -1)
          << "call " << s << " is in two regions that are not its passes";
      if (!again) uses.region[s] = static_cast<int>(r);
    };
    for (int s = region.first; s < region.last; ++s) use(s, region.image && region.pass > 0);
    if (region.rider >= 0) use(region.rider, region.pass > 0);
  }
  for (int s = 0; s < static_cast<int>(plan.program.calls.size()); ++s) {
    EXPECT_GE(uses.region[s], 0) << "call " << s << " is in no region";
    uses.made[plan.call(s).result()] = s;
    for (int value : plan.call(s).operands()) uses.reads[value].push_back(s);
  }
  return uses;
}

class Plans : public ::testing::TestWithParam<NetworkCase> {
 protected:
  static constexpr int kBatch = 3;
  const Graph graph_ = GetParam().graph();
  const Plan plan_ = make_plan(lower(graph_, {}), kBatch);
  const Uses uses_ = uses_of(plan_);
};
INSTANTIATE_TEST_SUITE_P(Networks, Plans, ::testing::ValuesIn(network_cases()),
                         [](const auto& test) { return test.param.name; });

TEST_P(Plans, NothingAliveInTheArenaOverlaps) {
  const int regions = static_cast<int>(plan_.regions.size());
  for (int r = 0; r <= regions;
       ++r) {  // after the last one, what was asked for must still be there
    std::vector<Alive> alive;
    for (int v = 0; v < static_cast<int>(plan_.places.size()); ++v) {
      const Place& place = plan_.places[v];
      if (place.scratch || place.offset < 0) continue;
      const int born = uses_.made[v] < 0 ? -1 : uses_.region[uses_.made[v]];
      int last = plan_.program.wanted[v] ? regions : born;
      for (int call : uses_.reads[v]) last = std::max(last, uses_.last_region[call]);
      if (uses_.made[v] >= 0) last = std::max(last, uses_.last_region[uses_.made[v]]);
      if (r < born || r > last) continue;
      const int64_t bytes = kBatch * plan_.program.values[v].bytes();
      EXPECT_LE(place.offset + bytes, plan_.arena_bytes);
      EXPECT_EQ(place.stride * plan_.program.values[v].grid.positions() * kBatch, bytes)
          << "rows of the arena are dense";
      alive.push_back({v, place.offset, bytes});
    }
    for (int s = 0; s < static_cast<int>(plan_.program.calls.size()); ++s) {
      if (plan_.call(s).reach() != Reach::kImage) continue;
      if (r < uses_.region[s] || r > uses_.last_region[s]) continue;
      const ImageCall& call = plan_.image_call(s);
      const int64_t bytes = call.state_bytes(kBatch);
      EXPECT_LE(call.state_offset() + bytes, plan_.arena_bytes);
      if (bytes > 0) alive.push_back({-1, call.state_offset(), bytes});
    }
    expect_apart(alive, "region " + std::to_string(r));
  }
}

TEST_P(Plans, NothingAliveInAWorkersScratchOverlaps) {
  for (int s = 0; s < static_cast<int>(plan_.program.calls.size()); ++s) {
    std::vector<Alive> alive;
    for (int v = 0; v < static_cast<int>(plan_.places.size()); ++v) {
      const Place& place = plan_.places[v];
      if (!place.scratch || uses_.made[v] < 0) continue;
      int last = uses_.made[v];
      for (int call : uses_.reads[v]) last = std::max(last, call);
      if (s < uses_.made[v] || s > last) continue;
      EXPECT_GE(place.stride, plan_.program.values[v].grid.channels * 4);
      const int64_t rows = plan_.regions[uses_.region[uses_.made[v]]].tile_rows;
      EXPECT_LE(place.offset + place.stride * rows, plan_.scratch_bytes);
      alive.push_back({v, place.offset, place.stride * rows});
    }
    expect_apart(alive, "call " + std::to_string(s));
  }
}

TEST_P(Plans, WhatOtherRowsOrLaterRegionsNeedIsInTheArena) {
  for (int v = 0; v < static_cast<int>(plan_.places.size()); ++v) {
    const std::vector<int>& inputs = plan_.program.inputs;
    const bool given = std::count(inputs.begin(), inputs.end(), v) > 0;
    const bool exists = given || uses_.made[v] >= 0;
    EXPECT_EQ(plan_.places[v].offset >= 0, exists) << "value " << v;
    if (!plan_.places[v].scratch) continue;
    EXPECT_FALSE(plan_.program.wanted[v]) << "value " << v;
    for (int call : uses_.reads[v]) {
      EXPECT_EQ(uses_.region[call], uses_.region[uses_.made[v]]) << "value " << v;
      const std::vector<int> gathered = gathered_by(plan_.call(call));
      EXPECT_EQ(std::count(gathered.begin(), gathered.end(), v), 0) << "value " << v;
    }
  }
}

TEST_P(Plans, ARegionNeverGathersWhatItMakes) {
  for (size_t r = 0; r < plan_.regions.size(); ++r) {
    const Region& region = plan_.regions[r];
    EXPECT_LT(region.first, region.last);
    // A scan lies between the regions it goes along with; as two regions it is there twice.
    const int before = r == 0 ? 0 : plan_.regions[r - 1].last;
    const int expected = region.pass == 0 ? before : region.image ? before - 1 : before + 1;
    EXPECT_EQ(region.first, expected) << "in order, without gaps";
    if (region.rider >= 0) {
      EXPECT_EQ(region.rider, region.pass == 0 ? region.last : region.first - 1);
      for (int s = region.first; s < region.last; ++s) {
        const std::vector<int> gathered = gathered_by(plan_.call(s));
        const int scanned = plan_.call(region.rider).result();
        EXPECT_EQ(std::count(gathered.begin(), gathered.end(), scanned), 0);
      }
    }
    for (int s = region.first; s < region.last; ++s) {
      const KernelCall& call = plan_.call(s);
      EXPECT_EQ(region.image, call.reach() == Reach::kImage);
      EXPECT_EQ(plan_.program.values[call.result()].grid.positions(), region.positions);
      for (int v : gathered_by(call)) {
        EXPECT_TRUE(uses_.made[v] < 0 || uses_.region[uses_.made[v]] < static_cast<int>(r));
      }
    }
  }
}

// Wide rows: a tile of them stays in the cache, and all of its rows are there.
TEST(Plan, TilesAreSizedByBytes) {
  Builder b;
  const Value stem = b.conv(b.input("image", {64, 64, 3}), "stem", 16, {3, 1, 1});
  const Value x = b.conv(stem, "conv", 16, {3, 1, 1});
  const Value wide = b.linear(x, "wide", 9216, false, Init{});
  b.output("y", b.linear(wide, "narrow", 64, false, Init{}));
  const Graph graph = std::move(b).finish();
  const Plan plan = make_plan(lower(graph, {}), 1);
  EXPECT_LE(plan.scratch_bytes, 2 << 20);
  EXPECT_LT(plan.regions.back().tile_rows, kMaxTileRows);
  EXPECT_GT(plan.regions.back().tile_rows, 0);
  EXPECT_EQ(plan.regions.front().tile_rows, kMaxTileRows);
}

// Rows so wide that not even a strip of them fits: a tile is a strip all the same.
TEST(Plan, ATileIsAtLeastAStrip) {
  Builder b;
  const Value x = b.conv(b.input("image", {8, 8, 3}), "conv", 4, {3, 1, 1});
  const Value wide = b.linear(x, "wide", 100'000, false, Init{});
  b.output("y", b.linear(wide, "narrow", 4, false, Init{}));
  const Plan plan = make_plan(lower(std::move(b).finish(), {}), 1);
  EXPECT_EQ(plan.regions.back().tile_rows, gemm_strip_rows());
  EXPECT_GE(plan.scratch_bytes, 4 * 100'000 * gemm_strip_rows());
}

// The queries of a head are shared out as evenly as they get, so some tasks have one more.
TEST(Plan, ScratchHoldsTheLargestTaskOfAttention) {
  const auto graph = [](int tokens) {
    Builder b;
    b.output("y", b.attention(b.input("qkv", {1, tokens, 48}),
                              {.heads = 1, .form = AttentionForm::kMaterialised}));
    return std::move(b).finish();
  };
  const auto model = PackedModel::make(graph(1), lively_weights(graph(1), 1));
  for (const int tokens : {401, 600, 1201}) {
    for (const int threads : {1, 2, 3, 5}) {
      const Plan plan = make_plan(lower(graph(tokens), {}), 1, threads);
      ASSERT_EQ(plan.regions.size(), 1u);
      const Bindings bindings(plan.program.values, plan.places, *model, nullptr);
      const int64_t tasks = plan.image_call(0).tasks(bindings, 1);
      const int64_t queries = (tokens + tasks - 1) / tasks;
      EXPECT_GE(static_cast<size_t>(plan.scratch_bytes),
                4 * (attention_packed_floats(tokens, 16) +
                     attention_materialised_scratch_floats(queries, tokens, 16)))
          << tokens << " tokens, " << threads << " threads, " << tasks << " tasks";
    }
  }
}

// Wide rows in front of a scan: it does not fix their tiles.
TEST(Plan, TilesInFrontOfASweepAreSizedByBytesToo) {
  const auto plan = [](int channels) {
    Builder b;
    const Value x = b.conv(b.input("image", {64, 64, 3}), "conv", 32, {3, 1, 1});
    const Value y = b.linear(b.linear(x, "wide", channels, false, Init{}), "narrow", 32, false, {});
    const Value qkv = b.linear(y, "qkv", 64, false, Init{});
    const Value gate = b.linear(y, "gate", 32, true, Init{});
    const Value o = b.gla(qkv, gate, {2, 8, 16, GlaDirection::kBoth});
    b.output("y", b.linear(o, "out", 8, false, Init{}));
    return make_plan(lower(std::move(b).finish(), {}), 1);
  };
  const auto rides = [](const Region& region) { return region.rider >= 0; };
  const Plan wide = plan(9216), narrow = plan(64);
  EXPECT_LE(wide.scratch_bytes, 2 << 20);
  EXPECT_EQ(std::count_if(wide.regions.begin(), wide.regions.end(), rides), 0);
  EXPECT_LE(narrow.scratch_bytes, 2 << 20);
  EXPECT_EQ(std::count_if(narrow.regions.begin(), narrow.regions.end(), rides), 2);
}

// Nothing of the FFN's hidden width is ever as long as the image.
TEST(Plan, MemoryOfAImageDoesNotGrowWithTheHiddenWidth) {
  constexpr int64_t kTokens = 64 * 64, kWidth = 192, kHidden = 512;
  const Graph graph = build_graph(find_model("vig_t"), 1024, 1024);
  const Plan plan = make_plan(lower(graph, {}), 1);
  int hidden = 0;
  for (size_t v = 0; v < plan.places.size(); ++v) {
    const Grid& grid = plan.program.values[v].grid;
    if (grid.channels != kHidden || plan.places[v].offset < 0) continue;
    ++hidden;
    EXPECT_TRUE(plan.places[v].scratch) << "value " << v;
  }
  EXPECT_EQ(hidden, 12) << "one a block";
  // The image, eight embedding widths a token around the scan, and its states.
  const int64_t image = 1024 * 1024 * 3;
  EXPECT_LT(plan.arena_bytes, 4 * (image + kTokens * 8 * kWidth + kTokens * kHidden / 8));
}

}  // namespace
}  // namespace vig::test
