// Shape rules of every operation, and what each says when its operands do not fit.
#include "vig/graph/builder.h"

#include <gtest/gtest.h>

#include <set>

#include "support/errors.h"

namespace vig::test {
namespace {

constexpr Init kInit{Init::Kind::kNormal, 0.02f};

// Values of any grid to start from: a convolution of kernel 1 sets the channels.
struct Bench {
  Builder b;
  int made = 0;

  Bench(int height, int width) : b(height, width) {}
  Value with_channels(int channels) {
    return b.conv(b.input(), "start" + std::to_string(made++), channels, {1, 1, 0});
  }
};

TEST(Builder, TheInputIsAPicture) {
  const Builder b(5, 9);
  EXPECT_EQ(b.grid(b.input()), (Grid{5, 9, 3}));
  expect_error(ErrorCode::kInput, {"[input]", "0 x 9", "1 x 1"}, [] { Builder(0, 9); });
  expect_error(ErrorCode::kInput, {"[input]", "5 x -1"}, [] { Builder(5, -1); });
}

TEST(Builder, ConvolutionsCountWholeStepsOfTheKernel) {
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
    Builder b(c.size, 40);
    const Value y = b.conv(b.input(), "stem", 6, {c.kernel, c.stride, c.padding});
    EXPECT_EQ(b.grid(y).height, c.out) << c.size << ", kernel " << c.kernel;
    EXPECT_EQ(b.grid(y).channels, 6);
  }
}

TEST(Builder, ConvolutionsTooLargeForTheGridAreRefused) {
  expect_error(ErrorCode::kInput, {"[conv]", "4 x 20", "kernel 7", "padding 1", "(stem)"}, [] {
    Builder b(4, 20);
    b.conv(b.input(), "stem", 6, {7, 2, 1});
  });
  Builder b(5, 20);
  EXPECT_EQ(b.grid(b.conv(b.input(), "stem", 6, {7, 2, 1})).height, 1);
}

TEST(Builder, DepthwiseConvolutionsKeepTheGrid) {
  Bench bench(4, 7);
  const Value x = bench.with_channels(10);
  EXPECT_EQ(bench.b.grid(bench.b.depthwise_conv(x, "local", 3, kInit)), (Grid{4, 7, 10}));
  expect_error(ErrorCode::kInput, {"[dwconv]", "4", "odd", "(local)"},
               [&] { bench.b.depthwise_conv(x, "local", 4, kInit); });
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
  for (const GlaOp& bad : {GlaOp{0, 4, 7}, GlaOp{2, 0, 7}, GlaOp{2, 4, 0}}) {
    expect_error(ErrorCode::kInput, {"[gla]", "at least 1"}, [&] { b.gla(qkv, two_gates, bad); });
  }
}

TEST(Builder, ParametersAreDeclaredInOrderUnderTheirNames) {
  Builder b(8, 8);
  Value x = b.conv(b.input(), "stem", 6, {3, 1, 1});
  x = b.depthwise_conv(x, "local.0", 3, kInit);
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
  EXPECT_EQ(graph.params[6].init, (Init{Init::Kind::kConstant, 0.5f}));
}

TEST(Builder, InitialValues) {
  Builder b(8, 8);
  Value x = b.conv(b.input(), "stem", 16, {3, 1, 1});
  x = b.layer_norm(x, "norm", 1e-5f);
  b.linear(x, "fc", 4, true, xavier_uniform(16, 4, 0.5f));
  const Graph graph = std::move(b).finish();
  // PyTorch's convolutions: uniform within 1 / sqrt(fan in), the bias too.
  EXPECT_EQ(graph.params[0].init.kind, Init::Kind::kUniform);
  EXPECT_FLOAT_EQ(graph.params[0].init.scale, 0.19245009f);
  EXPECT_EQ(graph.params[1].init, graph.params[0].init);
  EXPECT_EQ(graph.params[2].init.kind, Init::Kind::kOnes);
  EXPECT_EQ(graph.params[3].init.kind, Init::Kind::kZeros);
  EXPECT_FLOAT_EQ(graph.params[4].init.scale, 0.27386128f);  // 0.5 sqrt(6 / 20)
  EXPECT_EQ(graph.params[5].init.kind, Init::Kind::kZeros);
}

}  // namespace
}  // namespace vig::test
