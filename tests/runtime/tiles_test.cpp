// A scan goes over halves of the tokens tile by tile and carries its state from one tile to the
// next. Pictures whose halves have one to six tiles, whole and partial, against the reference
// execution and, on any number of threads, bit by bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "runtime/networks.h"
#include "runtime/reference_forward.h"
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

double relative_error(const Values& actual, const Values& expected) {
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
    const Values pixels = network.picture(1);
    Session session = network.session({.batch = 1, .threads = 2});
    set_input(session, 0, pixels);
    session.run(1);
    const auto expected = reference_forward(network.graph, *network.weights, pixels);
    for (const Output& output : network.graph.outputs) {
      EXPECT_LE(relative_error(read_value(session, output.node, 0), expected[output.node]), 2e-5)
          << output.name;
    }
  }
}

TEST_P(Tiles, EveryNumberOfThemGivesTheSameBitsOnAnyThreadsAndInAnyBatch) {
  for (const TileCase& tiles : kCases) {
    SCOPED_TRACE(tiles.rows * tiles.cols);
    const Network network(network_of(tiles, GetParam()));
    const Values pixels = network.picture(1);
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
