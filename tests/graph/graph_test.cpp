// Reports of a finished graph: names, labels, counts.
#include "vig/graph/graph.h"
#include "support/init.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support/errors.h"
#include "vig/graph/builder.h"

namespace vig::test {
namespace {

// One of every operation.
Graph everything() {
  Builder b;
  const Value input = b.input("image", {9, 6, 3});
  Value x = b.conv(input, "stem.0", 8, {3, 2, 1});  // 5 x 3
  x = b.max_pool(b.batch_norm(x, "bn"), {1, 1, 0});
  x = b.insert_rows(x, b.tokens("token", 1, 8, kInit), 0);
  x = b.select_rows(x, 1, 5, 3);
  x = b.activation(x, Elementwise::kRelu);
  x = b.layer_norm(x, "stem.1", 1e-5f);
  x = b.activation(x, Elementwise::kSilu);
  x = b.add_position(x, "pos_embed", 2, 2, kInit);
  const Value u = b.named(b.rms_norm(x, "norm", 1e-6f), "norm");
  const Value local = b.depthwise_conv(u, "local", {}, kInit);
  const Value qkv = b.linear(local, "qkv", 16, false, kInit);
  const Value gate = b.linear(local, "gate", 8, true, kInit);
  const Value o = b.gla(qkv, gate, {2, 2, 4, GlaDirection::kBoth});
  Value mixed = b.gated_mix(b.linear(local, "mix", 8, true, kInit), o, local);
  mixed = b.named(b.mul(mixed, b.activation(o, Elementwise::kSigmoid)), "mixed");
  x = b.add(x, b.scale(mixed, "gamma1", 1.0f));
  x = b.swiglu(b.linear(x, "ffn", 20, false, kInit));
  x = b.activation(x, Elementwise::kGelu);
  b.output("features", x);
  b.output("pooled", b.mean_pool(x));
  return std::move(b).finish();
}

TEST(Graph, EveryOperationHasANameOfItsOwn) {
  const std::set<std::string> expected = {
      "input",  "conv",       "dwconv",    "linear", "layer_norm",  "rms_norm",
      "relu",   "batch_norm", "max_pool",  "tokens", "insert_rows", "select_rows",
      "silu",   "gelu",       "sigmoid",   "add",    "mul",         "scale",
      "swiglu", "gated_mix",  "mean_pool", "gla",    "add_position"};
  std::set<std::string> names;
  const Graph graph = everything();
  for (const Node& node : graph.nodes) names.insert(op_name(node.op));
  EXPECT_EQ(names, expected);
}

template <size_t... kIndices>
std::vector<std::string> names_of_all(std::index_sequence<kIndices...>) {
  return {op_name(Op(std::in_place_index<kIndices>))...};
}

// As profiles and sentences about nodes say them, in the order of the set.
TEST(Graph, NamesOfAllOperations) {
  const std::vector<std::string> expected = {"input",
                                             "conv",
                                             "dwconv",
                                             "max_pool",
                                             "linear",
                                             "layer_norm",
                                             "rms_norm",
                                             "batch_norm",
                                             "silu",
                                             "add",
                                             "mul",
                                             "channel_gate",
                                             "scale",
                                             "add_position",
                                             "rotary",
                                             "tokens",
                                             "insert_rows",
                                             "select_rows",
                                             "swiglu",
                                             "gated_mix",
                                             "gla",
                                             "attention",
                                             "window_attention",
                                             "space_to_depth",
                                             "token_linear",
                                             "select_channels",
                                             "conv1d",
                                             "selective_scan",
                                             "q_shift",
                                             "bi_wkv",
                                             "s4_conv",
                                             "mean_pool",
                                             "average_pool",
                                             "adaptive_pool",
                                             "resize",
                                             "upsample_conv",
                                             "concat_channels",
                                             "add_row",
                                             "drop_channels",
                                             "deformable"};
  EXPECT_EQ(names_of_all(std::make_index_sequence<std::variant_size_v<Op>>()), expected);
}

TEST(Graph, OutputsAndModulesAreFoundByName) {
  const Graph graph = everything();
  EXPECT_EQ(graph.find_output("pooled"), static_cast<int>(graph.nodes.size()) - 1);
  EXPECT_EQ(graph.find_output("features"), static_cast<int>(graph.nodes.size()) - 2);
  EXPECT_EQ(graph.find_output("mixed"), -1);
  EXPECT_STREQ(op_name(graph.node(graph.find_module("mixed")).op), "mul");
  EXPECT_EQ(graph.find_module("pooled"), -1);
  EXPECT_EQ(graph.find_module(""), -1);
}

TEST(Graph, LabelsNameTheParameterOrTheModule) {
  const Graph graph = everything();
  std::set<std::string> labels;
  for (int node = 0; node < static_cast<int>(graph.nodes.size()); ++node) {
    labels.insert(graph.label(node));
  }
  const std::set<std::string> expected = {"",          "bn",    "token",  "stem.0", "stem.1",
                                          "pos_embed", "norm",  "local",  "qkv",    "gate",
                                          "mix",       "mixed", "gamma1", "ffn"};
  EXPECT_EQ(labels, expected);
  EXPECT_EQ(graph.label(0), "");
}

// A count that does not fit is an error, never a negative number.
TEST(Graph, CountsThatDoNotFitAreErrors) {
  const auto wide = [](int channels, int layers) {
    Builder b;
    const Value input = b.input("image", {8192, 8192, 3});
    Value x = input;
    for (int i = 0; i < layers; ++i) {
      x = b.linear(x, "layer" + std::to_string(i), channels, false, Init{});
    }
    return std::move(b).finish();
  };
  constexpr int kWide = 1 << 20;  // 2^26 positions x 2^40 weights do not fit, by a factor of 8
  const Graph large = wide(kWide, 2);
  EXPECT_EQ(large.param_count(), int64_t{3} * kWide + int64_t{kWide} * kWide);
  expect_error(ErrorCode::kUsage, {"multiply-adds do not fit 63 bits"},
               [&] { count_macs(large, large.nodes.back()); });
  expect_error(ErrorCode::kUsage, {"multiply-adds"}, [&] { count_macs(large); });
  // Each layer fits, their sum does not: 2^26 x 2^36 = 2^62.
  const Graph long_one = wide(1 << 18, 3);
  EXPECT_EQ(count_macs(long_one, long_one.nodes.back()).dense, int64_t{1} << 62);
  expect_error(ErrorCode::kUsage, {"multiply-adds"}, [&] { count_macs(long_one); });
  const MacCount half{int64_t{1} << 62, int64_t{1} << 62};
  expect_error(ErrorCode::kUsage, {"multiply-adds"}, [&] { half.total(); });
  // And parameters.
  Graph many;
  many.params.assign(2, ParamSpec{"p", Shape{int64_t{1} << 31, int64_t{1} << 31}, Init{}});
  expect_error(ErrorCode::kUsage, {"parameters do not fit 63 bits"}, [&] { many.param_count(); });
}

TEST(Graph, CountsParameters) {
  // stem 8*3*9 + 8, batch norm 16 besides its statistics, token 8, its norm 16, table 4*8, norm 8,
  // local 8*9, qkv 128, gate 64 + 8, mix 64 + 8, gamma 8, ffn 160
  EXPECT_EQ(everything().param_count(), 224 + 16 + 8 + 16 + 32 + 8 + 72 + 128 + 72 + 72 + 8 + 160);
  EXPECT_EQ(Graph{}.param_count(), 0);
}

TEST(Graph, CountsMultiplyAdds) {
  const Graph graph = everything();
  const int64_t positions = 5 * 3;
  MacCount sum;
  for (const Node& node : graph.nodes) {
    const MacCount macs = count_macs(graph, node);
    sum += macs;
    const std::string name = op_name(node.op);
    const bool dense = name == "conv" || name == "linear" || name == "dwconv";
    EXPECT_EQ(macs.dense > 0, dense) << name;
    EXPECT_EQ(macs.scan > 0, name == "gla") << name;
  }
  // Biases are no multiply-adds.
  EXPECT_EQ(sum.dense, positions * (216 + 72 + 128 + 64 + 64 + 160));
  EXPECT_EQ(sum.scan, positions * 2 * 3 * 2 * 4 * 2);  // heads, 3 K V, directions
  EXPECT_EQ(count_macs(graph).total(), sum.dense + sum.scan);
}

TEST(Graph, OneDirectionIsHalfTheScan) {
  const auto scan = [](GlaDirection direction) {
    Builder b;
    const Value input = b.input("image", {4, 4, 3});
    const GlaOp op{3, 2, 5, direction};
    const Value qkv = b.conv(input, "qkv", 27, {1, 1, 0});
    const Value gate = b.conv(input, "gate", gla_gate_channels(op), {1, 1, 0});
    b.output("o", b.gla(qkv, gate, op));
    return count_macs(std::move(b).finish()).scan;
  };
  EXPECT_EQ(scan(GlaDirection::kForward), 16 * 3 * 3 * 2 * 5);
  EXPECT_EQ(scan(GlaDirection::kBackward), scan(GlaDirection::kForward));
  EXPECT_EQ(scan(GlaDirection::kBoth), 2 * scan(GlaDirection::kForward));
  EXPECT_EQ(scan(GlaDirection::kBothShared), scan(GlaDirection::kBoth));
}

// ---- models of several graphs ----

Graph head_graph(int classes = 5) {
  Builder b;
  const Value x = b.linear(b.input("boxes", {7, 7, 8}), "shared", 8, true, kInit);
  b.output("scores", b.linear(b.mean_pool(x), "head", classes, true, kInit));
  return std::move(b).finish();
}

Graph body_graph(int size) {
  Builder b;
  const Value x = b.conv(b.input("image", {size, size, 3}), "stem", 8, {4, 4, 0});
  b.output("features", b.linear(x, "shared", 8, true, kInit));
  return std::move(b).finish();
}

TEST(SharedParameters, GraphsOfAModelListAllOfThem) {
  std::vector<Graph> graphs = {body_graph(32), head_graph()};
  share_parameters(graphs);
  const char* names[] = {"stem.weight", "stem.bias",   "shared.weight",
                         "shared.bias", "head.weight", "head.bias"};
  for (const Graph& graph : graphs) {
    ASSERT_EQ(graph.params.size(), std::size(names));
    for (size_t i = 0; i < std::size(names); ++i) EXPECT_EQ(graph.params[i].name, names[i]);
    EXPECT_EQ(graph.param_count(), 3 * 16 * 8 + 8 + 72 + 45);
  }
  EXPECT_EQ(graphs[1].nodes[1].params, (std::vector<int>{2, 3}));
  EXPECT_EQ(graphs[1].nodes[3].params, (std::vector<int>{4, 5}));
  EXPECT_EQ(graphs[1].label(1), "shared");
}

TEST(SharedParameters, OfOtherShapesAreRefused) {
  std::vector<Graph> graphs = {head_graph(5), head_graph(6)};
  expect_error(ErrorCode::kInput, {"head.weight", "[5, 8]", "[6, 8]"},
               [&] { share_parameters(graphs); });
}

TEST(Difference, SizesOfImagesAreNone) {
  EXPECT_EQ(difference(body_graph(32), body_graph(64)), "");
  EXPECT_NE(difference(body_graph(32), head_graph()), "");
  const auto with = [](Elementwise function, float eps, int at) {
    Builder b;
    Value x = b.layer_norm(b.input("image", {8, 8, 3}), "norm", eps);
    x = b.insert_rows(b.activation(x, function), x, at);
    b.output("y", x);
    return std::move(b).finish();
  };
  const Graph graph = with(Elementwise::kSilu, 1e-5f, 3);
  EXPECT_EQ(difference(graph, with(Elementwise::kSilu, 1e-5f, 5)), "");
  EXPECT_NE(difference(graph, with(Elementwise::kGelu, 1e-5f, 3)).find("silu"), std::string::npos);
  EXPECT_NE(difference(graph, with(Elementwise::kSilu, 1e-6f, 3)).find("layer_norm"),
            std::string::npos);
}

// Graphs of the same operations and parameters that are not the same network.
TEST(Difference, IsHowOperationsAreConnected) {
  const auto build = [](const auto& body) {
    Builder b;
    const Value x = b.input("image", {4, 4, 4});
    const Value u = b.linear(x, "a", 4, true, kInit), v = b.linear(u, "b", 4, true, kInit);
    b.output("y", body(b, u, v));
    return std::move(b).finish();
  };
  const auto expect_different = [](const Graph& one, const Graph& other, const std::string& word) {
    EXPECT_NE(difference(one, other).find(word), std::string::npos) << difference(one, other);
    EXPECT_NE(difference(other, one).find(word), std::string::npos) << difference(other, one);
    EXPECT_EQ(difference(one, one), "");
  };
  expect_different(build([](Builder& b, Value u, Value v) { return b.gated_mix(u, u, v); }),
                   build([](Builder& b, Value u, Value v) { return b.gated_mix(u, v, u); }),
                   "operation 3 is gated_mix");
  expect_different(
      build([](Builder& b, Value, Value v) { return b.linear(v, "a", 4, true, kInit); }),
      build([](Builder& b, Value, Value v) { return b.linear(v, "b", 4, true, kInit); }),
      "operation 3 is linear");
  expect_different(build([](Builder& b, Value, Value v) { return b.select_channels(v, 0, 2); }),
                   build([](Builder& b, Value, Value v) { return b.select_channels(v, 0, 3); }),
                   "operation 3 is select_channels");
  expect_different(build([](Builder&, Value, Value v) { return v; }),
                   build([](Builder& b, Value, Value v) { return b.mean_pool(v); }), "missing");
  // Tables of as many rows, which belong to other grids.
  expect_different(
      build([](Builder& b, Value, Value v) { return b.add_position(v, "p", 2, 8, kInit); }),
      build([](Builder& b, Value, Value v) { return b.add_position(v, "p", 4, 4, kInit); }),
      "operation 3 is add_position");
  expect_different(
      build([](Builder& b, Value, Value v) { return b.add_position(v, "p", 8, 2, kInit); }),
      build([](Builder& b, Value, Value v) { return b.add_position(v, "p", 8, 1, kInit); }),
      "p [1, 16, 4]");
}

// A map that has the right size already is not resized.
TEST(Difference, IsNotWhetherMapsAreResized) {
  const auto with = [](int side, Elementwise function) {
    Builder b;
    Value x = b.input("image", {side, side, 3});
    x = b.add(x, b.resize(b.adaptive_pool(x, 2), side, side, Resampling::kBilinear));
    b.output("y", b.activation(x, function));
    return std::move(b).finish();
  };
  const Graph large = with(8, Elementwise::kSilu), small = with(2, Elementwise::kSilu);
  EXPECT_EQ(large.nodes.size(), small.nodes.size() + 1);
  EXPECT_EQ(difference(large, small), "");
  EXPECT_NE(difference(large, with(2, Elementwise::kGelu)).find("gelu"), std::string::npos);
}

TEST(Grids, CountPositionsInSixtyFourBits) {
  const Grid grid{65536, 65536, 3};
  EXPECT_EQ(grid.positions(), int64_t{1} << 32);
  EXPECT_EQ(grid.elements(), int64_t{3} << 32);
}

}  // namespace
}  // namespace vig::test
