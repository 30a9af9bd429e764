// The session's contract besides the numbers.
#include "vig/runtime/session.h"

#include <gtest/gtest.h>

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
  Session session = network.session({.batch = 2, .threads = 1});
  expect_usage_error([&] { session.run(0); }, "0 pictures");
  expect_usage_error([&] { session.run(3); }, "at most 2");
  expect_usage_error([&] { session.output("boxes", 0); }, "boxes");
  const int inner = network.graph.find_module("blocks.0.attn_norm");
  expect_usage_error([&] { session.value(inner, 0); }, "was not kept");
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
