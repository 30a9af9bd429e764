// What the graph becomes before it is placed.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "runtime/networks.h"
#include "vig/runtime/plan.h"
#include "vig/runtime/program.h"

namespace vig::test {
namespace {

const char* epilogue_name(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::kNone:
      return "";
    case Epilogue::kSilu:
      return " silu";
    case Epilogue::kGelu:
      return " gelu";
    case Epilogue::kSigmoid:
      return " sigmoid";
    case Epilogue::kDecay:
      return " decay";
    case Epilogue::kAdd:
      return " add";
    case Epilogue::kSwiGlu:
      return " swiglu";
  }
  return "?";
}

// A step in words: what it does and, where it has one, its first parameter.
std::string describe(const Graph& graph, const LowOp& op) {
  const auto name = [&](int param) { return param < 0 ? "" : " " + graph.params[param].name; };
  return std::visit(Overloaded{
                        [&](const GemmStep& s) {
                          return std::string("linear") + epilogue_name(s.epilogue) + name(s.weight);
                        },
                        [&](const NormStep& s) { return "norm" + name(s.weight); },
                        [&](const PointwiseStep& s) { return "pointwise" + name(s.b_param); },
                        [&](const MixStep& s) {
                          return std::string(s.silu ? "mix silu" : "mix") + name(s.o_weight) +
                                 name(s.local_weight);
                        },
                        [&](const PatchStep&) { return std::string("patches"); },
                        [&](const DepthwiseStep& s) {
                          return std::string(s.silu ? "dwconv silu" : "dwconv") + name(s.weight);
                        },
                        [&](const GlaStep&) { return std::string("scan"); },
                        [&](const PoolStep&) { return std::string("pool"); },
                    },
                    op);
}

std::multiset<std::string> described(const Graph& graph, const std::vector<int>& keep = {}) {
  std::multiset<std::string> words;
  for (const LowStep& step : lower(graph, keep).steps) words.insert(describe(graph, step.op));
  return words;
}

Graph one_block(const std::string& model, Fields fields = {}, int size = 64) {
  ModelSpec spec = find_model(model);
  override_fields(spec, fields);
  return build_graph(spec, size, size);
}

TEST(Lower, ABlockOfVigT) {
  const Graph graph = one_block("vig_t", {{"depth", "1"}});
  const std::string b = "blocks.0.";
  const std::multiset<std::string> expected = {
      // the stem and what follows the last block
      "patches",
      "linear patch_embed.proj.0.weight",
      "norm patch_embed.proj.1.weight",
      "pointwise",  // SiLU after a norm
      "patches",
      "linear patch_embed.proj.3.weight",
      "norm patch_embed.proj.4.weight",
      "pointwise pos_embed",
      "norm norm.weight",
      "pool",
      "linear head.weight",
      // the mixer: ten nodes of the graph are gone
      "norm " + b + "attn_norm.weight",
      "dwconv silu " + b + "attn.in_proj.0.weight",
      "linear " + b + "attn.qkv_proj.weight",
      "linear " + b + "attn.gk_proj.0.weight",
      "linear decay " + b + "attn.gk_proj.1.weight",
      "scan",
      "linear " + b + "attn.g_proj.weight",
      "mix silu " + b + "attn.g_norm.weight " + b + "attn.l_norm.weight",
      "linear add " + b + "attn.o_proj.weight",
      // the FFN
      "norm " + b + "mlp_norm.weight",
      "linear swiglu " + b + "mlp.gate_proj.weight",
      "linear add " + b + "mlp.down_proj.weight",
  };
  EXPECT_EQ(described(graph), expected);
}

TEST(Lower, ABlockWithoutActivations) {
  const auto words = described(one_block("vig_s", {{"depth", "1"}}));
  EXPECT_EQ(words.count("dwconv blocks.0.attn.in_proj.0.weight"), 1u);
  EXPECT_EQ(words.count("mix blocks.0.attn.g_norm.weight blocks.0.attn.l_norm.weight"), 1u);
}

TEST(Lower, LayerScaleStandsBetweenProductAndSum) {
  const auto words = described(one_block("vig_t", {{"depth", "1"}, {"layer_scale", "true"}}));
  EXPECT_EQ(words.count("linear blocks.0.attn.o_proj.weight"), 1u);
  EXPECT_EQ(words.count("pointwise blocks.0.gamma1"), 1u);
  EXPECT_EQ(words.count("linear swiglu blocks.0.mlp.gate_proj.weight"), 1u);
}

TEST(Lower, TwoLayersKeepTheirSum) {
  const auto words = described(one_block("gla_t_vim", {{"depth", "1"}}));
  EXPECT_EQ(words.count("scan"), 2u);
  EXPECT_EQ(words.count("linear decay blocks.0.attn.gk_proj_b.1.weight"), 1u);
  EXPECT_EQ(words.count("linear silu blocks.0.attn.g_proj.weight"), 1u);
}

TEST(Lower, WhatIsKeptIsNotJoinedAway) {
  const Graph graph = one_block("vig_t", {{"depth", "1"}});
  const auto words = described(
      graph, {graph.find_module("blocks.0.attn.g_norm"), graph.find_module("blocks.0.attn")});
  EXPECT_EQ(words.count("norm blocks.0.attn.g_norm.weight"), 1u);
  EXPECT_EQ(words.count("mix silu blocks.0.attn.l_norm.weight"), 1u);
  EXPECT_EQ(words.count("linear blocks.0.attn.o_proj.weight"), 1u);
}

class Programs : public ::testing::TestWithParam<NetworkCase> {};
INSTANTIATE_TEST_SUITE_P(Networks, Programs, ::testing::ValuesIn(network_cases()),
                         [](const auto& test) { return test.param.name; });

TEST_P(Programs, StepsReadOnlyWhatIsThere) {
  const Graph graph = GetParam().graph();
  const Program program = lower(graph, {});
  ASSERT_EQ(program.wanted.size(), program.values.size());
  std::vector<bool> made(program.values.size(), false);
  made[0] = true;
  for (const LowStep& step : program.steps) {
    for (int value : operands_of(step.op)) {
      EXPECT_TRUE(made[value]) << describe(graph, step.op) << " reads value " << value;
    }
    for (int value : gathered_by(step.op)) EXPECT_TRUE(made[value]);
    EXPECT_FALSE(made[result_of(step.op)]) << describe(graph, step.op) << " is made twice";
    made[result_of(step.op)] = true;
  }
  for (const Output& output : graph.outputs) EXPECT_TRUE(made[output.node]) << output.name;
}

TEST_P(Programs, JoiningLosesNoMultiplyAdds) {
  const Graph graph = GetParam().graph();
  MacCount sum;
  for (const LowStep& step : lower(graph, {}).steps) sum += step.macs;
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
