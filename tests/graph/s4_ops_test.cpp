// Shape rules, errors and multiply-adds of the long convolution of S4 and of rotary positions.
#include <gtest/gtest.h>

#include "support/errors.h"
#include "vig/graph/builder.h"
#include "vig/graph/fuse.h"

namespace vig::test {
namespace {

Builder::S4Params params_named(const std::string& name, int states = 6, int systems = 2) {
  Builder::S4Params params;
  params.d = name + ".D";
  params.kernel = name + ".kernel.0";
  params.states = states;
  params.systems = systems;
  return params;
}

TEST(S4Ops, TheConvolutionHasItsParameters) {
  Builder b;
  const Value x = b.input("x", {3, 4, 5});
  EXPECT_EQ(b.grid(b.s4_conv(x, params_named("s4"), {2, 7})), (Grid{3, 4, 10}));
  const Graph graph = std::move(b).finish();
  const std::vector<std::pair<std::string, Shape>> expected = {
      {"s4.D", {2, 5}},
      {"s4.kernel.0.inv_dt", {5, 1}},
      {"s4.kernel.0.C", {4, 5, 3, 2}},
      {"s4.kernel.0.B", {1, 2, 3, 2}},
      {"s4.kernel.0.A_real", {2, 3}},
      {"s4.kernel.0.A_imag", {2, 3}},
      {"s4.kernel.0.P", {1, 2, 3, 2}},
      {"s4.kernel.0.l_kernel", Shape{}},
  };
  ASSERT_EQ(graph.params.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(graph.params[i].name, expected[i].first);
    EXPECT_EQ(graph.params[i].shape, expected[i].second);
    EXPECT_EQ(graph.params[i].trained, i != 7);
    EXPECT_EQ(graph.params[i].decayed, i == 0 || i == 2) << graph.params[i].name;
  }
}

TEST(S4Ops, TheConvolutionRefusesOddStatesAndNoTaps) {
  Builder b;
  const Value x = b.input("x", {3, 4, 5});
  for (const S4ConvOp op : {S4ConvOp{0, 7}, S4ConvOp{2, 0}}) {
    expect_error(ErrorCode::kInput, {"[s4_conv]", "kernel.0"},
                 [&] { b.s4_conv(x, params_named("s4"), op); });
  }
  expect_error(ErrorCode::kInput, {"[s4_conv]", "5 states"}, [&] {
    b.s4_conv(x, params_named("s4", 5), {1, 2});
  });
  expect_error(ErrorCode::kInput, {"[s4_conv]", "0 systems"}, [&] {
    b.s4_conv(x, params_named("s4", 6, 0), {1, 2});
  });
}

// The pairs of tokens that meet, one by one.
TEST(S4Ops, MultiplyAddsAreOfPairs) {
  for (const int tokens : {1, 4, 12}) {
    for (const int length : {1, 3, 4, 50}) {
      int64_t pairs = 0;
      for (int t = 0; t < tokens; ++t) {
        for (int s = 0; s < tokens; ++s) pairs += s <= t ? t - s < length : s - t <= length;
      }
      EXPECT_EQ(s4_pairs({1, length}, tokens), pairs) << tokens << ", " << length;
      Builder b;
      b.s4_conv(b.input("x", {1, tokens, 5}), params_named("s4"), {2, length});
      EXPECT_EQ(count_macs(std::move(b).finish()).scan, 10 * pairs);
    }
  }
}

TEST(S4Ops, AFunctionIsFusedBehindTheConvolution) {
  Builder b;
  const Value y = b.s4_conv(b.input("x", {1, 6, 4}), params_named("s4"), {1, 6});
  const Value z = b.activation(y, Elementwise::kGelu);
  b.output("z", z);
  const Graph graph = std::move(b).finish();
  const auto units = fuse(graph);
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(units[1].function, Elementwise::kGelu);
  EXPECT_EQ(units[1].result, z.id);
}

TEST(S4Ops, RotaryTablesAreNotTrained) {
  Builder b;
  const Value x = b.input("x", {3, 4, 6});
  const Builder::RotaryTables tables = {"cos", "sin", {}, {}};
  EXPECT_EQ(b.grid(b.rotary(x, tables, {5, 2})), (Grid{3, 4, 6}));
  b.rotary(x, tables, {5, 2});  // shared by layers
  expect_error(ErrorCode::kInput, {"[rotary]", "0 x 2"}, [&] { b.rotary(x, tables, {0, 2}); });
  const Value odd = b.input("odd", {3, 4, 5});
  expect_error(ErrorCode::kInput, {"[rotary]", "5 channels"}, [&] {
    b.rotary(odd, {"c", "s", {}, {}}, {5, 2});
  });
  const Graph graph = std::move(b).finish();
  ASSERT_EQ(graph.params.size(), 2u);
  for (const ParamSpec& param : graph.params) {
    EXPECT_EQ(param.shape, (Shape{10, 6}));
    EXPECT_FALSE(param.trained);
  }
  EXPECT_EQ(graph.param_count(), 0);
}

TEST(S4Ops, AGateOfTheReleasedInverseBelongsToOneDirection) {
  Builder b;
  const Value x = b.input("x", {2, 3, 8});
  SelectiveScanOp op;
  op.channels = op.states = 2;
  op.directions = {{{ScanOrder::kColumns}, 0, 0, 0, 2, 0, 4}};
  op.gate = 0;
  op.released_columns = true;
  EXPECT_EQ(b.grid(b.selective_scan({x}, op, {{"a", "d", "bias"}})), (Grid{2, 3, 2}));
  op.directions.push_back(op.directions[0]);
  op.shared = true;
  expect_error(ErrorCode::kInput, {"[selective_scan]", "released inverse"}, [&] {
    b.selective_scan({x}, op, {{"a", "d", "bias"}});
  });
}

}  // namespace
}  // namespace vig::test
