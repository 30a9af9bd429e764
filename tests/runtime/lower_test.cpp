// What the graph becomes before it is placed.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/networks.h"
#include "vig/graph/builder.h"
#include "vig/runtime/plan.h"
#include "vig/runtime/program.h"

namespace vig::test {
namespace {

Graph one_block(const std::string& model, Fields fields = {}, int size = 64) {
  ModelSpec spec = find_model(model);
  override_fields(spec, fields);
  return build_graph(spec, size, size);
}

TEST(Lower, ABlockOfVigT) {
  std::vector<std::string> kinds;
  for (const auto& call : lower(one_block("vig_t", {{"depth", "1"}}), {}).calls) {
    kinds.push_back(call->kind());
  }
  const std::vector<std::string> expected = {
      // the stem
      "conv", "norm", "pointwise", "conv", "norm", "pointwise",
      // the mixer
      "norm", "depthwise conv", "linear", "linear", "linear + decay", "scan", "linear", "gated mix",
      "linear + add",
      // the FFN
      "norm", "linear + swiglu", "linear + add",
      // the classifier
      "norm", "pool", "linear"};
  EXPECT_EQ(kinds, expected);
}

std::vector<std::string> kinds_of(const Program& program) {
  std::vector<std::string> kinds;
  for (const auto& call : program.calls) kinds.push_back(call->kind());
  return kinds;
}

// A pathway from a coarse map to a fine one. Dropping channels is no call, and hides nothing from
// what is fused around it; its value is copied for those who want to see it.
TEST(Lower, ResizedSumsAreOneCallAndDroppedChannelsNone) {
  Builder b;
  const Value coarse = b.input("coarse", {4, 4, 8}), fine = b.input("fine", {8, 8, 8});
  const Value sum = b.add(fine, b.resize(coarse, 8, 8, Resampling::kNearest));
  const Value dropped = b.drop_channels(sum, 0.1f);
  const Value classes = b.conv(dropped, "classes", 5, {});
  b.output("map", b.activation(b.drop_channels(classes, 0.1f), Elementwise::kRelu));
  const Graph graph = std::move(b).finish();
  EXPECT_EQ(kinds_of(lower(graph, {})), (std::vector<std::string>{"resize + add", "linear"}));
  EXPECT_EQ(kinds_of(lower(graph, {dropped.id})),
            (std::vector<std::string>{"resize + add", "channels", "linear"}));
}

class Programs : public ::testing::TestWithParam<NetworkCase> {};
INSTANTIATE_TEST_SUITE_P(Networks, Programs, ::testing::ValuesIn(network_cases()),
                         [](const auto& test) { return test.param.name; });

TEST_P(Programs, CallsReadOnlyWhatIsThere) {
  const Graph graph = GetParam().graph();
  const Program program = lower(graph, {});
  ASSERT_EQ(program.wanted.size(), program.values.size());
  std::vector<bool> made(program.values.size(), false);
  for (int input : program.inputs) made[input] = true;
  for (const auto& call : program.calls) {
    for (int value : call->operands()) {
      EXPECT_TRUE(made[value]) << call->kind() << " reads value " << value;
    }
    EXPECT_FALSE(made[call->result()]) << call->kind() << " is made twice";
    made[call->result()] = true;
  }
  for (const Output& output : graph.outputs) EXPECT_TRUE(made[output.node]) << output.name;
}

TEST_P(Programs, FusingLosesNoMultiplyAdds) {
  const Graph graph = GetParam().graph();
  MacCount sum;
  const Program program = lower(graph, {});
  for (const auto& call : program.calls) sum += call->macs;
  EXPECT_EQ(sum.dense, count_macs(graph).dense);
  EXPECT_EQ(sum.scan, count_macs(graph).scan);
}

// Depthwise convolution and projections; the scan; everything to the next block's norm.
// Projections with the first pass of the scan, its second pass with the rest; for more workers than
// halves, both passes by themselves.
TEST(Regions, ABlockOfVigTIsTwoOrFour) {
  const auto regions = [](const char* depth, int threads) {
    const Graph graph = one_block("vig_t", {{"depth", depth}}, 224);
    return make_plan(lower(graph, {}), 1, threads).regions.size();
  };
  EXPECT_EQ(regions("3", 1) - regions("2", 1), 2u);
  EXPECT_EQ(regions("3", 2) - regions("2", 2), 2u);
  EXPECT_EQ(regions("3", 3) - regions("2", 3), 4u);
}

}  // namespace
}  // namespace vig::test
