// Results are the same bits whatever the number of threads, whoever shares the batch, whatever ran
// before, and whatever else is kept.
#include <gtest/gtest.h>

#include <limits>

#include "runtime/networks.h"
#include "support/errors.h"

namespace vig::test {
namespace {

constexpr int kThreads[] = {1, 2, 3, 5};

class Bits : public ::testing::TestWithParam<NetworkCase> {};
INSTANTIATE_TEST_SUITE_P(Networks, Bits, ::testing::ValuesIn(network_cases()),
                         [](const auto& test) { return test.param.name; });

TEST_P(Bits, SameForAnyNumberOfThreads) {
  const Network network(GetParam());
  const Values pixels = network.image(1);
  Session one = network.session({.batch = 1, .threads = 1});
  const Values expected = run_alone(one, pixels);
  for (int threads : kThreads) {
    Session session = network.session({.batch = 1, .threads = threads});
    EXPECT_EQ(session.threads(), threads);
    for (int run = 0; run < 3; ++run) {
      expect_same_bits(run_alone(session, pixels), expected, std::to_string(threads) + " threads");
    }
  }
}

TEST_P(Bits, SameAloneAndInAnyPlaceOfABatch) {
  constexpr int kBatch = 4;
  const Network network(GetParam());
  Session alone = network.session({.batch = 1, .threads = 1});
  std::vector<Values> pixels, expected;
  for (int i = 0; i < kBatch; ++i) {
    pixels.push_back(network.image(100 + i));
    expected.push_back(run_alone(alone, pixels.back()));
  }
  for (int threads : kThreads) {
    Session session = network.session({.batch = kBatch, .threads = threads});
    for (int images = kBatch; images >= 1; --images) {  // then parts of the batch
      for (int shift = 0; shift < kBatch; ++shift) {    // each image comes to each place
        for (int i = 0; i < images; ++i) set_input(session, i, pixels[(i + shift) % kBatch]);
        session.run(images);
        for (int i = 0; i < images; ++i) {
          expect_same_bits(read_outputs(session, i), expected[(i + shift) % kBatch],
                           std::to_string(threads) + " threads, " + std::to_string(images) +
                               " images, place " + std::to_string(i));
        }
      }
    }
  }
}

// Numbers that spoil whatever they touch show any value that is read before it is written, and any
// row that looks at a neighbour's image.
TEST_P(Bits, NotANumberInOneRunOrImageStaysThere) {
  const Network network(GetParam());
  const Values good = network.image(7);
  const Values bad(good.size(), std::numeric_limits<float>::quiet_NaN());
  Session fresh = network.session({.batch = 1, .threads = 1});
  const Values expected = run_alone(fresh, good);
  Session session = network.session({.batch = 3, .threads = 2});
  for (int i = 0; i < 3; ++i) set_input(session, i, bad);
  session.run(3);
  set_input(session, 1, good);
  session.run(3);
  expect_same_bits(read_outputs(session, 1), expected, "between two bad images");
  set_input(session, 0, good);
  session.run(1);
  expect_same_bits(read_outputs(session, 0), expected, "after bad images");
}

TEST_P(Bits, RunningLeavesTheInputAlone) {
  const Network network(GetParam());
  Session session = network.session({.batch = 2, .threads = 2});
  const Values pixels = network.image(3);
  set_input(session, 0, pixels);
  set_input(session, 1, pixels);
  session.run(2);
  const Values first = read_outputs(session, 1);
  expect_same_bits(read_inputs(session, 1), pixels, "input");
  session.run(2);
  expect_same_bits(read_outputs(session, 1), first, "second run on the same input");
}

TEST(FullSize, SameBitsForThreadsAndBatch) {
  for (const char* model : {"vig_t", "vig_h_t"}) {
    const Network network({model, model, {}, 224, 224});
    const Values pixels = network.image(1);
    Session alone = network.session({.batch = 1, .threads = 1});
    const Values expected = run_alone(alone, pixels);
    for (int threads : kThreads) {
      Session session = network.session({.batch = 2, .threads = threads});
      expect_same_bits(run_alone(session, pixels), expected, model);
      set_input(session, 0, network.image(2));
      set_input(session, 1, pixels);
      session.run(2);
      expect_same_bits(read_outputs(session, 1), expected, model);
    }
  }
}

TEST_P(Bits, KeepingEveryValueChangesNoOutput) {
  const Network network(GetParam());
  const Values pixels = network.image(4);
  Session plain = network.session({.batch = 1, .threads = 2});
  const Values expected = run_alone(plain, pixels);
  SessionOptions options{.batch = 2, .threads = 2};
  for (int node = 0; node < static_cast<int>(network.graph.nodes.size()); ++node) {
    if (can_be_kept(network.graph, node)) options.keep.push_back(node);
  }
  Session keeping = network.session(options);
  expect_same_bits(run_alone(keeping, pixels), expected, "all values kept");
}

TEST(Keep, AnySingleValueChangesNoOutput) {
  for (const char* name :
       {"test_vig", "test_vig_h_odd", "layer_scale", "gla_t_vim", "convolutions", "middle_token"}) {
    const Network network(network_case(name));
    const Values pixels = network.image(5);
    Session plain = network.session({.batch = 1, .threads = 1});
    const Values expected = run_alone(plain, pixels);
    for (int node = 0; node < static_cast<int>(network.graph.nodes.size()); ++node) {
      if (!can_be_kept(network.graph, node)) continue;
      Session keeping = network.session({.batch = 1, .threads = 1, .keep = {node}});
      expect_same_bits(run_alone(keeping, pixels), expected,
                       std::string(name) + " with " + op_name(network.graph.node(node).op) + " " +
                           network.graph.label(node) + " kept");
    }
  }
}

TEST(Keep, WhatWasPackedTogetherCannotBeKept) {
  for (const char* name : {"test_vig", "convolutions"}) {
    const Network network(network_case(name));
    int refused = 0;
    for (int node = 0; node < static_cast<int>(network.graph.nodes.size()); ++node) {
      if (can_be_kept(network.graph, node)) continue;
      ++refused;
      expect_error(ErrorCode::kUsage, {network.graph.label(node), "cannot be kept"},
                   [&] { network.session({.batch = 1, .threads = 1, .keep = {node}}); });
    }
    EXPECT_GT(refused, 0) << name;
  }
}

}  // namespace
}  // namespace vig::test
