// The session's contract besides the numbers.
#include "vig/runtime/session.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/networks.h"
#include "vig/base/error.h"
#include "vig/graph/builder.h"

namespace vig::test {
namespace {

template <typename Function>
void expect_usage_error(Function&& function, const std::string& about) {
  try {
    function();
    ADD_FAILURE() << "no error about " << about;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_NE(std::string(error.what()).find(about), std::string::npos) << error.what();
  }
}

TEST(Session, SaysWhatItHas) {
  const Network network(network_case("test_vig"));
  Session session = network.session({.batch = 3, .threads = 2});
  EXPECT_EQ(session.batch(), 3);
  EXPECT_EQ(session.threads(), 2);
  EXPECT_EQ(session.graph().param_count(), network.graph.param_count());
  EXPECT_GE(session.arena_bytes(), 3u * 64 * 64 * 3 * sizeof(float));
  EXPECT_GT(session.scratch_bytes(), 0u);
  EXPECT_EQ(network.session({.threads = 0}).threads(), default_threads());
}

TEST(Session, RefusesWhatDoesNotExist) {
  const Network network(network_case("test_vig"));
  expect_usage_error([&] { network.session({.batch = 0}); }, "batch is 0");
  expect_usage_error([&] { network.session({.slots = 0}); }, "0 slots");
  const auto team = std::make_shared<ThreadTeam>(2);
  expect_usage_error([&] { network.session({.threads = 3, .team = team}); },
                     "3 threads on a team of 2");
  expect_usage_error([&] { network.session({.threads = 1, .team = team}); },
                     "1 threads on a team of 2");
  Session session = network.session({.batch = 2, .threads = 1});
  expect_usage_error([&] { session.run(0); }, "0 pictures");
  expect_usage_error([&] { session.run(3); }, "at most 2");
  expect_usage_error([&] { session.run(1, 1); }, "slot 1");
  expect_usage_error([&] { session.input(0, 1); }, "slot 1");
  expect_usage_error([&] { session.input(2); }, "picture 2");
  expect_usage_error([&] { session.output("boxes", 0); }, "boxes");
  const int inner = network.graph.find_module("blocks.0.attn_norm");
  expect_usage_error([&] { session.value(inner, 0); }, "was not kept");
}

TEST(Session, RefusesAGraphOfAnotherModel) {
  const Network network(network_case("test_vig"));
  const auto expect_refused = [&](const std::string& model, const Fields& fields,
                                  const std::string& about) {
    const Graph other = NetworkCase{"", model, fields, 64, 64}.graph();
    expect_usage_error([&] { Session(network.packed, other, {.threads = 1}); }, about);
  };
  expect_refused("test_vig_h", {}, "a graph of another model");
  expect_refused("test_vig", {{"classes", "11"}},
                 "is head.weight [11, 64] in one and head.weight [10, 64] in the other");
  expect_refused("test_vig", {{"depth", "3"}}, "a graph of another model");
  expect_refused("test_vig", {{"depth", "1"}}, "a graph of another model");
}

// The first session packs what later ones of every size share.
TEST(Session, PacksItsOwnWeights) {
  NetworkCase description = network_case("test_vig");
  const Network network(description);
  Session first(network.graph, network.weights, {.threads = 2});
  Session alone = network.session({.threads = 1});
  const Values pixels = network.picture(1);
  expect_same_bits(run_alone(first, pixels), run_alone(alone, pixels), "the first session");
  EXPECT_EQ(first.model()->bytes(), network.packed->bytes());

  description.width = 96;
  const Graph wide = description.graph();
  Session shared(first.model(), wide, {.team = first.team()});
  EXPECT_EQ(shared.threads(), 2);
  Session expected(network.packed, wide, {.threads = 1});
  const Values wide_pixels = picture(64, 96, 1);
  expect_same_bits(run_alone(shared, wide_pixels), run_alone(expected, wide_pixels),
                   "a later session");
}

TEST(Session, SaysHowMuchMemoryItWillTake) {
  const Network network(network_case("test_vig"));
  size_t said = 0;
  const Session session = network.session(
      {.batch = 2, .threads = 2, .slots = 3, .before_memory = [&](size_t b) { said = b; }});
  EXPECT_EQ(said, session.bytes());  // position tables fit as they are, so nothing is added
}

// Each slot keeps its own pictures, whichever runs.
TEST(Session, HoldsSeveralSlots) {
  constexpr int kSlots = 3, kBatch = 2;
  const Network network(network_case("test_vig"));
  Session alone = network.session({.threads = 1});
  Session session = network.session({.batch = kBatch, .threads = 2, .slots = kSlots});
  EXPECT_EQ(session.slots(), kSlots);
  std::vector<Values> pixels, expected;
  for (int i = 0; i < kSlots * kBatch; ++i) {
    pixels.push_back(network.picture(10 + i));
    expected.push_back(run_alone(alone, pixels.back()));
    std::copy(pixels.back().begin(), pixels.back().end(), session.input(i % kBatch, i / kBatch));
  }
  for (const int slot : {2, 0, 1, 1, 2}) {
    session.run(kBatch, slot);
    for (int image = 0; image < kBatch; ++image) {
      const size_t i = static_cast<size_t>(slot * kBatch + image);
      expect_same_bits(read_outputs(session, image), expected[i], "picture " + std::to_string(i));
      expect_same_bits(read_value(session, 0, image), pixels[i], "pixels " + std::to_string(i));
    }
  }
}

TEST(Session, ProfileCountsTheWorkOfAllRuns) {
  const Network network(network_case("test_vig"));
  Session session = network.session({.batch = 2, .threads = 2, .profile = true});
  for (int i = 0; i < 2; ++i) set_input(session, i, network.picture(i));
  session.run(2);
  session.run(1);
  MacCount sum;
  double seconds = 0;
  for (const ProfileEntry& entry : session.profile()) {
    EXPECT_FALSE(entry.kind.empty());
    EXPECT_GE(entry.seconds, 0);
    sum += entry.macs;
    seconds += entry.seconds;
  }
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(sum.dense, 3 * count_macs(network.graph).dense);
  EXPECT_EQ(sum.scan, 3 * count_macs(network.graph).scan);
}

TEST(Session, ProfileAddsUpTheWorkers) {
  const Network network(network_case("test_vig"));
  Session session = network.session({.threads = 2, .profile = true});
  set_input(session, 0, network.picture(1));
  session.run(1, 0, true);  // in the caller's thread alone: the last worker has nothing to add
  double seconds = 0;
  for (const ProfileEntry& entry : session.profile()) seconds += entry.seconds;
  EXPECT_GT(seconds, 0);
}

// A value that nobody reads is computed into nobody's memory.
TEST(Session, UnreadValuesDoNoHarm) {
  const auto build = [](bool unread) {
    Builder b;
    const Value input = b.input("picture", {24, 24, 3});
    const Init init = normal_init(0.02f);
    Value x = b.conv(input, "stem", 32, {4, 4, 0});
    const Value qkv = b.linear(x, "qkv", 64, false, init);
    const Value gate = b.linear(x, "gate", 32, true, init);
    const GlaOp op{2, 8, 16, GlaDirection::kBoth};
    if (unread) b.gla(qkv, gate, op);
    const Value o = b.gla(qkv, gate, op);
    if (unread) {
      b.mean_pool(o);
      b.linear(o, "unread", 200, false, init);
      b.depthwise_conv(o, "unread_conv", {}, init);
    }
    x = b.add(x, b.linear(o, "out", 32, false, init));
    b.output("pooled", b.mean_pool(x));
    return std::move(b).finish();
  };
  const Values pixels = picture(24, 24, 1);
  std::vector<Values> results;
  for (bool unread : {false, true}) {
    const Graph graph = build(unread);
    const auto weights = lively_weights(graph, 1);
    Session session(PackedModel::make(graph, weights), graph, {.batch = 1, .threads = 2});
    results.push_back(run_alone(session, pixels));
  }
  expect_same_bits(results[1], results[0], "with unread values");
}

}  // namespace
}  // namespace vig::test
