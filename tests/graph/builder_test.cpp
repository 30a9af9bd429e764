// Shape rules of every operation, and what each says when its operands do not fit.
#include "vig/graph/builder.h"
#include "support/init.h"

#include <gtest/gtest.h>

#include <set>

#include "support/errors.h"

namespace vig::test {
namespace {

// Values of any grid to start from: a convolution of kernel 1 sets the channels.
struct Bench {
  Builder b;
  Value input;
  int made = 0;

  Bench(int height, int width) : input(b.input("image", {height, width, 3})) {}
  Value with_channels(int channels) {
    return b.conv(input, "start" + std::to_string(made++), channels, {1, 1, 0});
  }
};

TEST(Builder, InputsHaveNamesAndAnyGrid) {
  Builder b;
  const Value image = b.input("image", {5, 9, 3}), boxes = b.input("boxes", {7, 7, 256});
  EXPECT_EQ(b.grid(image), (Grid{5, 9, 3}));
  EXPECT_EQ(b.grid(boxes), (Grid{7, 7, 256}));
  expect_error(ErrorCode::kInput, {"[input]", "empty", "0 x 9 x 3", "1 x 1 x 1"}, [&] {
    b.input("empty", {0, 9, 3});
  });
  expect_error(ErrorCode::kInput, {"[input]", "5 x -1"}, [&] { b.input("p", {5, -1, 3}); });
  expect_error(ErrorCode::kInput, {"[input]", "x 0"}, [&] { b.input("p", {5, 5, 0}); });
  expect_error(ErrorCode::kInput, {"[input]", "boxes"}, [&] { b.input("boxes", {1, 1, 1}); });
  const Graph graph = std::move(b).finish();
  EXPECT_EQ(graph.find_input("boxes"), boxes.id);
  EXPECT_EQ(graph.find_input("empty"), -1);
  ASSERT_EQ(graph.inputs.size(), 2u);
  EXPECT_EQ(graph.inputs[0].name, "image");
}

TEST(Builder, ConvolutionsCountWholeStrides) {
  struct Case {
    int size, kernel, stride, padding, out;
  };
  for (const Case& c : {Case{224, 9, 8, 1, 28},
                        {28, 3, 2, 1, 14},
                        {224, 16, 16, 0, 14},
                        {225, 16, 16, 0, 14},
                        {7, 9, 8, 1, 1},
                        {1, 3, 2, 1, 1},
                        {6, 3, 1, 0, 4},
                        {5, 1, 1, 0, 5},
                        {2, 3, 2, 1, 1},
                        {3, 3, 2, 1, 2}}) {
    Builder b;
    const Value input = b.input("image", {c.size, 40, 3});
    const Value y = b.conv(input, "stem", 6, {c.kernel, c.stride, c.padding});
    EXPECT_EQ(b.grid(y).height, c.out) << c.size << ", kernel " << c.kernel;
    EXPECT_EQ(b.grid(y).channels, 6);
  }
}

TEST(Builder, AGateIsOneRowOfTheMapsChannels) {
  Builder b;
  const Value x = b.input("x", {4, 5, 6});
  const Value gated = b.channel_gate(x, b.mean_pool(x));
  EXPECT_EQ(b.grid(gated), (Grid{4, 5, 6}));
  EXPECT_EQ(error_of([&] { b.channel_gate(x, x); }),
            "[channel_gate] gate is 4 x 5 x 6, expected 1 x 1 x 6");
  const Value narrow = b.mean_pool(b.linear(x, "narrow", 3, true, {}));
  EXPECT_EQ(error_of([&] { b.channel_gate(x, narrow); }),
            "[channel_gate] gate is 1 x 1 x 3, expected 1 x 1 x 6");
}

TEST(Builder, ConvolutionsTooLargeForTheGridAreRefused) {
  expect_error(ErrorCode::kInput, {"[conv]", "4 x 20", "kernel 7", "padding 1", "(stem)"}, [] {
    Builder b;
    const Value input = b.input("image", {4, 20, 3});
    b.conv(input, "stem", 6, {7, 2, 1});
  });
  Builder b;
  const Value input = b.input("image", {5, 20, 3});
  EXPECT_EQ(b.grid(b.conv(input, "stem", 6, {7, 2, 1})).height, 1);
}

TEST(Builder, DepthwiseConvolutionsKeepTheGrid) {
  Bench bench(4, 7);
  const Value x = bench.with_channels(10);
  EXPECT_EQ(bench.b.grid(bench.b.depthwise_conv(x, "local", {}, kInit)), (Grid{4, 7, 10}));
  expect_error(ErrorCode::kInput, {"[dwconv]", "4", "odd", "(local)"},
               [&] { bench.b.depthwise_conv(x, "local", {.kernel = 4}, kInit); });
}

TEST(Builder, ConvolutionsHaveGroupsAndMayHaveNoBias) {
  Bench bench(9, 8);
  Builder& b = bench.b;
  const Value x = bench.with_channels(12);
  EXPECT_EQ(b.grid(b.conv(x, "grouped", 20, {.kernel = 3, .groups = 4})), (Grid{7, 6, 20}));
  b.conv(x, "bare", 5, {.bias = false});
  for (const int groups : {0, -1, 5, 24}) {
    expect_error(ErrorCode::kInput, {"[conv]", "12 and 20", std::to_string(groups), "(c)"},
                 [&] { b.conv(x, "c", 20, {.groups = groups}); });
  }
  expect_error(ErrorCode::kInput, {"[conv]", "12 and 7", "(c)"},
               [&] { b.conv(x, "c", 7, {.groups = 3}); });
  expect_error(ErrorCode::kInput, {"[conv]", "stride 0"}, [&] { b.conv(x, "c", 6, {1, 0, 0}); });
  expect_error(ErrorCode::kInput, {"[conv]", "padding -3"}, [&] { b.conv(x, "c", 6, {1, 1, -3}); });
  const Graph graph = std::move(b).finish();
  EXPECT_EQ(graph.params[2].shape, (Shape{20, 3, 3, 3}));
  EXPECT_EQ(graph.params[4].name, "bare.weight");
  EXPECT_EQ(graph.params.size(), 5u);
  EXPECT_EQ(count_macs(graph, graph.nodes[2]).dense, 7 * 6 * 20 * 3 * 9);
}

TEST(Builder, SamePaddingMakesAWindowAStride) {
  for (const int size : {1, 4, 5, 6, 7}) {
    Builder b;
    const Value x = b.input("image", {size, 8, 3});
    const Value y = b.conv(x, "c", 4, {.kernel = 5, .stride = 2, .padding = kSamePadding});
    EXPECT_EQ(b.grid(y), (Grid{(size + 1) / 2, 4, 4})) << size;
  }
  // 8 positions in windows of 5, 2 apart: 3 lines of padding, 1 before and 2 behind.
  EXPECT_EQ(window_padding(8, 5, 2, kSamePadding), 1);
  EXPECT_EQ(window_padding(7, 5, 2, kSamePadding), 2);
  EXPECT_EQ(window_padding(8, 1, 4, kSamePadding), 0);
  EXPECT_EQ(window_padding(8, 5, 2, 2), 2);
}

TEST(Builder, DepthwiseConvolutionsHaveStrideAndBias) {
  Bench bench(9, 8);
  Builder& b = bench.b;
  const Value x = bench.with_channels(6);
  EXPECT_EQ(b.grid(b.depthwise_conv(x, "d", {.kernel = 5, .stride = 2, .bias = true}, kInit)),
            (Grid{5, 4, 6}));
  EXPECT_EQ(b.grid(b.depthwise_conv(x, "e", {.kernel = 3, .padding = 0}, kInit)), (Grid{7, 6, 6}));
  const Graph graph = std::move(b).finish();
  EXPECT_EQ(graph.params[3].name, "d.bias");
  EXPECT_EQ(graph.params[3].shape, (Shape{6}));
}

TEST(Builder, MaxPoolingKeepsTheChannels) {
  Bench bench(9, 8);
  const Value x = bench.with_channels(6);
  EXPECT_EQ(bench.b.grid(bench.b.max_pool(x, {3, 2, 1})), (Grid{5, 4, 6}));
  expect_error(ErrorCode::kInput, {"[max_pool]", "padding 2", "kernel 3"}, [&] {
    bench.b.max_pool(x, {3, 2, 2});
  });
  expect_error(ErrorCode::kInput, {"[max_pool]", "9 x 8", "kernel 10"}, [&] {
    bench.b.max_pool(x, {10, 1, 0});
  });
  // Half of the kernel is not more than half of it.
  EXPECT_EQ(bench.b.grid(bench.b.max_pool(x, {2, 2, 1})), (Grid{5, 5, 6}));
}

TEST(Builder, BatchNormsHaveStatisticsThatDoNotLearn) {
  Bench bench(4, 4);
  const Value x = bench.with_channels(6);
  EXPECT_EQ(bench.b.grid(bench.b.batch_norm(x, "bn")), (Grid{4, 4, 6}));
  const Graph graph = std::move(bench.b).finish();
  const std::pair<const char*, bool> expected[] = {{"bn.weight", true},
                                                   {"bn.bias", true},
                                                   {"bn.running_mean", false},
                                                   {"bn.running_var", false}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(graph.params[2 + i].name, expected[i].first);
    EXPECT_EQ(graph.params[2 + i].trained, expected[i].second) << expected[i].first;
    EXPECT_EQ(graph.params[2 + i].shape, (Shape{6}));
    EXPECT_EQ(graph.params[2 + i].init, i % 3 == 0 ? ones_init() : Init{}) << expected[i].first;
  }
}

TEST(Builder, RowsAreInsertedAndSelected) {
  Bench bench(3, 5);
  Builder& b = bench.b;
  const Value x = bench.with_channels(4);
  const Value token = b.tokens("cls_token", 2, 4, kInit);
  EXPECT_EQ(b.grid(token), (Grid{1, 2, 4}));
  for (const int at : {0, 7, 15}) {
    EXPECT_EQ(b.grid(b.insert_rows(x, token, at)), (Grid{1, 17, 4}));
  }
  EXPECT_EQ(b.grid(b.select_rows(x, 3, 2, 6)), (Grid{2, 6, 4}));
  for (const int at : {-1, 16}) {
    expect_error(ErrorCode::kInput, {"[insert_rows]", "3 x 5 x 4", std::to_string(at)},
                 [&] { b.insert_rows(x, token, at); });
  }
  expect_error(ErrorCode::kInput, {"[insert_rows]", "1 x 2 x 5"},
               [&] { b.insert_rows(x, b.tokens("t", 2, 5, kInit), 0); });
  expect_error(ErrorCode::kInput, {"[select_rows]", "2 x 6", "4", "3 x 5 x 4"},
               [&] { b.select_rows(x, 4, 2, 6); });
  expect_error(ErrorCode::kInput, {"[select_rows]"}, [&] { b.select_rows(x, -1, 1, 1); });
  expect_error(ErrorCode::kInput, {"[tokens]", "0", "(none)"},
               [&] { b.tokens("none", 0, 4, kInit); });
  expect_error(ErrorCode::kInput, {"[tokens] 1 rows of 0 channels"},
               [&] { b.tokens("none", 1, 0, kInit); });
  for (const auto& [height, width] : {std::pair(0, 5), std::pair(5, 0)}) {
    expect_error(ErrorCode::kInput, {"[select_rows]"},
                 [&, h = height, w = width] { b.select_rows(x, 0, h, w); });
  }
}

TEST(Builder, PositionTablesMayHaveExtraRows) {
  Bench bench(3, 5);
  Builder& b = bench.b;
  const Value x = b.insert_rows(bench.with_channels(4), b.tokens("cls_token", 1, 4, kInit), 7);
  EXPECT_EQ(b.grid(b.add_position(x, "pos", {2, 2, 3, 5, {{2, 7}}}, kInit)), (Grid{1, 16, 4}));
  EXPECT_EQ(std::move(b).finish().params.back().shape, (Shape{1, 5, 4}));
  Bench other(3, 5);
  const Value y = other.with_channels(4);
  const auto add = [&](AddPositionOp op) { other.b.add_position(y, "pos", std::move(op), kInit); };
  expect_error(ErrorCode::kInput, {"[add_position]", "15", "3 x 5", "1 extra", "(pos)"}, [&] {
    add({2, 2, 3, 5, {{0, 0}}});
  });
  const std::vector<std::vector<ExtraRow>> wrong = {
      {{5, 0}}, {{0, 15}}, {{-1, 0}}, {{2, 2}, {1, 3}, {3, 4}}, {{1, 3}, {2, 3}, {3, 4}}};
  for (const std::vector<ExtraRow>& extra : wrong) {
    const int cells = 15 - static_cast<int>(extra.size());
    expect_error(ErrorCode::kInput, {"[add_position]", "extra row"}, [&] {
      add({2, 2, 1, cells, extra});
    });
  }
}

// The second operation of a name uses the first one's parameter.
TEST(Builder, ParametersOfOneNameAreShared) {
  Bench bench(3, 5);
  Builder& b = bench.b;
  const Value x = bench.with_channels(4);
  const Value y = b.linear(x, "fc", 6, true, kInit), z = b.linear(x, "fc", 6, true, kInit);
  expect_error(ErrorCode::kInput, {"fc.weight", "[6, 4]", "[5, 4]"},
               [&] { b.linear(x, "fc", 5, true, kInit); });
  const Graph graph = std::move(b).finish();
  EXPECT_EQ(graph.node(y.id).params, graph.node(z.id).params);
  EXPECT_EQ(graph.params.size(), 4u);
}

TEST(Builder, LinearLayersAndNormsWorkOnChannels) {
  Bench bench(4, 7);
  Builder& b = bench.b;
  const Value x = bench.with_channels(12);
  EXPECT_EQ(b.grid(b.linear(x, "fc", 5, true, kInit)), (Grid{4, 7, 5}));
  EXPECT_EQ(b.grid(b.layer_norm(x, "ln", 1e-5f)), (Grid{4, 7, 12}));
  EXPECT_EQ(b.grid(b.rms_norm(x, "rms", 1e-6f)), (Grid{4, 7, 12}));
  EXPECT_EQ(b.grid(b.rms_norm(x, "heads", 1e-6f, 3)), (Grid{4, 7, 12}));
  EXPECT_EQ(b.grid(b.scale(x, "gamma", 1.0f)), (Grid{4, 7, 12}));
  for (int groups : {0, -1, 5, 24}) {
    expect_error(ErrorCode::kInput, {"[rms_norm]", "12", std::to_string(groups), "(heads)"},
                 [&] { b.rms_norm(x, "heads", 1e-6f, groups); });
  }
}

TEST(Builder, ElementwiseOperandsHaveEqualGrids) {
  Bench bench(4, 7);
  Builder& b = bench.b;
  const Value x = bench.with_channels(6), y = bench.with_channels(6), z = bench.with_channels(8);
  const Value pooled = b.mean_pool(x);
  EXPECT_EQ(b.grid(b.add(x, y)), (Grid{4, 7, 6}));
  EXPECT_EQ(b.grid(b.mul(x, y)), (Grid{4, 7, 6}));
  EXPECT_EQ(b.grid(b.gated_mix(x, y, x)), (Grid{4, 7, 6}));
  EXPECT_EQ(b.grid(b.activation(x, Elementwise::kGelu)), (Grid{4, 7, 6}));
  expect_error(ErrorCode::kInput, {"[add]", "4 x 7 x 6", "4 x 7 x 8"}, [&] { b.add(x, z); });
  expect_error(ErrorCode::kInput, {"[mul]", "4 x 7 x 6", "1 x 1 x 6"}, [&] { b.mul(x, pooled); });
  expect_error(ErrorCode::kInput, {"[gated_mix]", "4 x 7 x 8"}, [&] { b.gated_mix(x, y, z); });
  expect_error(ErrorCode::kInput, {"[gated_mix]", "4 x 7 x 8"}, [&] { b.gated_mix(z, y, x); });
}

TEST(Builder, SwiGluHalvesTheChannels) {
  Bench bench(2, 2);
  EXPECT_EQ(bench.b.grid(bench.b.swiglu(bench.with_channels(10))), (Grid{2, 2, 5}));
  expect_error(ErrorCode::kInput, {"[swiglu]", "7", "even"},
               [&] { bench.b.swiglu(bench.with_channels(7)); });
}

TEST(Builder, PositionTablesHaveAnySizeButNone) {
  Bench bench(3, 5);
  const Value x = bench.with_channels(4);
  EXPECT_EQ(bench.b.grid(bench.b.add_position(x, "pos", 14, 14, kInit)), (Grid{3, 5, 4}));
  expect_error(ErrorCode::kInput, {"[add_position]", "0 x 14", "(pos)"},
               [&] { bench.b.add_position(x, "pos", 0, 14, kInit); });
}

TEST(Builder, PoolingLeavesOnePosition) {
  Bench bench(3, 5);
  EXPECT_EQ(bench.b.grid(bench.b.mean_pool(bench.with_channels(4))), (Grid{1, 1, 4}));
}

TEST(Builder, TheScanChecksBothItsOperands) {
  Bench bench(3, 5);
  Builder& b = bench.b;
  const GlaOp op{2, 4, 7, GlaDirection::kBoth};
  const Value qkv = bench.with_channels(2 * (4 + 4 + 7));
  const Value two_gates = bench.with_channels(16), one_gate = bench.with_channels(8);
  EXPECT_EQ(b.grid(b.gla(qkv, two_gates, op)), (Grid{3, 5, 14}));
  for (GlaDirection direction :
       {GlaDirection::kForward, GlaDirection::kBackward, GlaDirection::kBothShared}) {
    const GlaOp other{2, 4, 7, direction};
    EXPECT_EQ(b.grid(b.gla(qkv, one_gate, other)), (Grid{3, 5, 14}));
    expect_error(ErrorCode::kInput, {"[gla]", "gate", "3 x 5 x 16", "3 x 5 x 8"},
                 [&] { b.gla(qkv, two_gates, other); });
  }
  expect_error(ErrorCode::kInput, {"[gla]", "gate", "3 x 5 x 8", "3 x 5 x 16"},
               [&] { b.gla(qkv, one_gate, op); });
  expect_error(ErrorCode::kInput, {"[gla]", "16", "30", "2 heads"},
               [&] { b.gla(two_gates, two_gates, op); });
  EXPECT_EQ(b.grid(b.gla(bench.with_channels(3), bench.with_channels(2), {})), (Grid{3, 5, 1}));
  for (const GlaOp& bad : {GlaOp{0, 4, 7}, GlaOp{2, 0, 7}, GlaOp{2, 4, 0}}) {
    expect_error(ErrorCode::kInput, {"[gla]", "at least 1"}, [&] { b.gla(qkv, two_gates, bad); });
  }
}

TEST(Builder, ParametersAreDeclaredInOrderUnderTheirNames) {
  Builder b;
  const Value input = b.input("image", {8, 8, 3});
  Value x = b.conv(input, "stem", 6, {3, 1, 1});
  x = b.depthwise_conv(x, "local.0", {}, kInit);
  x = b.linear(x, "fc", 4, false, kInit);
  x = b.linear(x, "head", 2, true, kInit);
  x = b.scale(x, "gamma", 0.5f);
  b.add_position(x, "pos", 2, 3, kInit);
  const Graph graph = std::move(b).finish();
  const std::pair<const char*, Shape> expected[] = {{"stem.weight", {6, 3, 3, 3}},
                                                    {"stem.bias", {6}},
                                                    {"local.0.weight", {6, 1, 3, 3}},
                                                    {"fc.weight", {4, 6}},
                                                    {"head.weight", {2, 4}},
                                                    {"head.bias", {2}},
                                                    {"gamma", {2}},
                                                    {"pos", {1, 6, 2}}};
  ASSERT_EQ(graph.params.size(), std::size(expected));
  for (size_t i = 0; i < graph.params.size(); ++i) {
    EXPECT_EQ(graph.params[i].name, expected[i].first);
    EXPECT_EQ(graph.params[i].shape, expected[i].second) << expected[i].first;
  }
  EXPECT_EQ(graph.params[6].init, constant_init(0.5f));
}

TEST(Builder, InitialValues) {
  Builder b;
  const Value input = b.input("image", {8, 8, 3});
  Value x = b.conv(input, "stem", 16, {3, 1, 1});
  x = b.layer_norm(x, "norm", 1e-5f);
  b.linear(x, "fc", 4, true, xavier_uniform(16, 4, 0.5f));
  const Graph graph = std::move(b).finish();
  // PyTorch's convolutions: uniform within 1 / sqrt(fan in), the bias too.
  EXPECT_EQ(graph.params[0].init.rule, fill_uniform);
  EXPECT_FLOAT_EQ(graph.params[0].init.a, 0.19245009f);
  EXPECT_EQ(graph.params[1].init, graph.params[0].init);
  EXPECT_EQ(graph.params[2].init, ones_init());
  EXPECT_EQ(graph.params[3].init, Init{});
  EXPECT_FLOAT_EQ(graph.params[4].init.a, 0.27386128f);  // 0.5 sqrt(6 / 20)
  EXPECT_EQ(graph.params[5].init, Init{});
  EXPECT_FLOAT_EQ(kaiming_normal(8).a, 0.5f);
}

}  // namespace
}  // namespace vig::test
