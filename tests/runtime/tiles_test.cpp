// A scan goes over halves of the tokens tile by tile and carries its state from one tile to the
// next. Images whose halves have one to six tiles, whole and partial, against the reference
// execution and, on any number of threads, bit by bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>

#include "kernels/on_targets.h"
#include "runtime/networks.h"
#include "runtime/reference_forward.h"
#include "vig/graph/builder.h"
#include "vig/kernels/gemm.h"
#include "vig/runtime/plan.h"

namespace vig::test {
namespace {

struct TileCase {
  int rows, cols;  // of tokens
};

constexpr TileCase kCases[] = {{1, 10},  {4, 25},  {14, 16}, {10, 23}, {15, 20}, {18, 25},
                               {20, 25}, {20, 34}, {25, 28}, {30, 30}, {28, 40}};

NetworkCase network_of(const TileCase& tiles, const std::string& model) {
  return {"tiles",
          model,
          {{"classes", "5"},
           {"image_size", "20"},
           {"patch_size", "4"},
           {"embed_dim", "16"},
           {"depth", "2"},
           {"heads", "2"}},
          4 * tiles.rows,
          4 * tiles.cols};
}

double largest_error(const Values& actual, const Values& expected) {
  double error = 0, largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(actual[i]) - expected[i]);
    error = std::isfinite(difference) ? std::max(error, difference) : INFINITY;
    largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
  }
  return error / largest;
}

class Tiles : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Tiles, ::testing::Values("vig_t", "gla_t", "gla_t_bidirectional"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(Tiles, EveryNumberOfThemGivesTheReferencesAnswer) {
  for (const TileCase& tiles : kCases) {
    SCOPED_TRACE(tiles.rows * tiles.cols);
    const Network network(network_of(tiles, GetParam()));
    const Values pixels = network.image(1);
    Session session = network.session({.batch = 1, .threads = 2});
    set_input(session, 0, pixels);
    session.run(1);
    const auto expected = reference_forward(network.graph, *network.weights, pixels);
    for (const Output& output : network.graph.outputs) {
      EXPECT_LE(largest_error(read_value(session, output.node, 0), expected[output.node]), 2e-5)
          << output.name;
    }
  }
}

TEST_P(Tiles, EveryNumberOfThemGivesTheSameBitsOnAnyThreadsAndInAnyBatch) {
  for (const TileCase& tiles : kCases) {
    SCOPED_TRACE(tiles.rows * tiles.cols);
    const Network network(network_of(tiles, GetParam()));
    const Values pixels = network.image(1);
    Session one = network.session({.batch = 1, .threads = 1});
    const Values expected = run_alone(one, pixels);
    for (const int threads : {2, 3, 4}) {
      for (const int batch : {1, 2}) {
        Session session = network.session({.batch = batch, .threads = threads});
        for (int image = 0; image < batch; ++image) set_input(session, image, pixels);
        session.run(batch);
        expect_same_bits(read_outputs(session, batch - 1), expected,
                         std::to_string(threads) + " threads, batch " + std::to_string(batch));
      }
    }
  }
}

class TilesOnTarget : public OnTarget {};

// A strip has 14 rows or 6, as the instruction set has it, and scratch has room for kMaxTileRows.
TEST_P(TilesOnTarget, HalvesAreCutIntoWholePairsOfStripsThatFit) {
  const int64_t pair = 2 * gemm_strip_rows();
  for (int64_t positions = 1; positions <= 1500; ++positions) {
    int64_t next = 0;
    for (const bool back : {false, true}) {
      const SweepTiles tiles = SweepTiles::of_half(positions, back);
      ASSERT_EQ(tiles.first, next) << positions << " positions";
      ASSERT_EQ(tiles.start(tiles.count()), tiles.last);
      for (int64_t t = 0; t < tiles.count(); ++t, next = tiles.start(t)) {
        const int64_t rows = tiles.start(t + 1) - tiles.start(t);
        ASSERT_EQ(tiles.start(t), next);
        ASSERT_GT(rows, 0) << positions << " positions";
        ASSERT_LE(rows, kMaxTileRows) << positions << " positions";
        ASSERT_TRUE(rows % pair == 0 || t + 1 == tiles.count()) << positions << " positions";
      }
    }
    ASSERT_EQ(next, positions);
    // The halves differ by less than a strip and a row, which a strip may be cut off.
    const int64_t middle = SweepTiles::of_half(positions, true).first;
    ASSERT_LE(std::abs(positions - 2 * middle), gemm_strip_rows() + 1) << positions;
  }
}

// Several tiles of the most rows in a chain whose values stay in scratch, one beside the other: a
// row too many would overwrite a neighbour's.
TEST_P(TilesOnTarget, FullTilesOfAChainGiveTheReferencesAnswer) {
  Builder b;
  Value x = b.conv(b.input("image", {25, 40, 3}), "stem", 12, {.kernel = 3, .padding = 1});
  for (const char* name : {"one", "two"}) {
    const Value y = b.layer_norm(x, std::string(name) + ".norm", 1e-5f);
    const Value hidden = b.activation(
        b.linear(y, std::string(name) + ".up", 24, true, normal_init(0.02f)), Elementwise::kGelu);
    x = b.add(x, b.mul(y, b.linear(hidden, std::string(name) + ".down", 12, true, {})));
  }
  b.output("y", x);
  const Graph graph = std::move(b).finish();
  const auto weights = lively_weights(graph, 1);
  const Values pixels = image(25, 40, 1);
  const Values expected = reference_forward(graph, *weights, pixels).back();
  Values first;
  for (const int threads : {1, 2, 3}) {
    Session session(graph, weights, {.threads = threads});
    const Values found = run_alone(session, pixels);
    EXPECT_LE(largest_error(found, expected), 1e-5) << threads << " threads";
    if (threads == 1) first = found;
    expect_same_bits(found, first, std::to_string(threads) + " threads");
  }
}

// A ViG block with its scan on every instruction set, so that either strip is tried.
TEST_P(TilesOnTarget, AScanGivesTheReferencesAnswer) {
  for (const TileCase& tiles : {TileCase{12, 20}, {13, 17}}) {
    const Network network(network_of(tiles, "vig_t"));
    const Values pixels = network.image(1);
    const auto expected = reference_forward(network.graph, *network.weights, pixels);
    for (const int threads : {1, 2, 3}) {
      Session session = network.session({.threads = threads});
      run_alone(session, pixels);
      for (const Output& output : network.graph.outputs) {
        EXPECT_LE(largest_error(read_value(session, output.node, 0), expected[output.node]), 2e-5)
            << output.name << ", " << threads << " threads";
      }
    }
  }
}

VIG_ON_EVERY_TARGET(TilesOnTarget);

// Passes that ride along have a time of their own, beside that of the calls around them.
TEST(TileProfile, TheTimeOfARidingScanIsItsOwn) {
  const Network network(network_of({10, 23}, "vig_t"));
  const Plan plan = make_plan(lower(network.graph, {}), 1, 1);
  ASSERT_TRUE(std::any_of(plan.regions.begin(), plan.regions.end(),
                          [](const Region& region) { return region.rider >= 0; }));
  Session session = network.session({.threads = 1, .profile = true});
  run_alone(session, network.image(1));
  for (const ProfileEntry& entry : session.profile()) EXPECT_GT(entry.seconds, 0) << entry.kind;
}

// The sizes above are worth what numbers of tiles they have.
TEST(TileCounts, OddAndEvenNumbersOfThemAreTried) {
  std::set<int64_t> counts;
  for (const TileCase& tiles : kCases) {
    const Graph graph = network_of(tiles, "vig_t").graph();
    const Plan plan = make_plan(lower(graph, {}), 1, 2);
    for (const Region& region : plan.regions) {
      if (region.rider < 0) continue;
      for (const bool back : {false, true}) {
        counts.insert(SweepTiles::of_half(region.positions, back).count());
      }
    }
  }
  for (const int64_t count : {1, 2, 3, 4, 5}) EXPECT_TRUE(counts.contains(count)) << count;
}

}  // namespace
}  // namespace vig::test
