// Shape rules, errors and multiply-adds of attention and of what stands around it in networks.
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/init.h"
#include "vig/graph/builder.h"

namespace vig::test {
namespace {

int64_t last_macs(Builder&& b) {
  const Graph graph = std::move(b).finish();
  return count_macs(graph, graph.nodes.back()).total();
}

TEST(AttentionOps, AttentionMakesAThirdOfTheChannels) {
  Builder b;
  const Value qkv = b.input("qkv", {5, 7, 36});
  EXPECT_EQ(b.grid(b.attention(qkv, {3})), (Grid{5, 7, 12}));
  for (const int heads : {0, 5}) {
    expect_error(ErrorCode::kInput, {"[attention]", "36 channels", std::to_string(heads)},
                 [&] { b.attention(qkv, {heads}); });
  }
  // q k^T and p v: 2 T^2 multiply-adds for each channel.
  EXPECT_EQ(last_macs(std::move(b)), 2 * 35 * 35 * 12);
}

TEST(AttentionOps, FormsAreDifferentOperations) {
  EXPECT_EQ(AttentionOp{3}, AttentionOp{3});
  EXPECT_NE(AttentionOp{3}, (AttentionOp{3, AttentionForm::kEager}));
}

TEST(AttentionOps, WindowsHaveATableAndTheBiasOfTheirProjection) {
  Builder b;
  const Value x = b.input("x", {5, 9, 8});
  const Value qkv = b.linear(x, "qkv", 24, true, kInit);
  const Value o = b.window_attention(qkv, "table", "qkv.bias", {4, 3, 2, true}, kInit);
  EXPECT_EQ(b.grid(o), (Grid{5, 9, 8}));
  expect_error(ErrorCode::kInput, {"[window_attention]", "24 channels", "5 heads", "other"}, [&] {
    b.window_attention(qkv, "other", "qkv.bias", {5, 3, 2, true}, kInit);
  });
  expect_error(ErrorCode::kInput, {"[window_attention]", "3 x 0", "other"}, [&] {
    b.window_attention(qkv, "other", "qkv.bias", {4, 3, 0, true}, kInit);
  });
  const Graph graph = std::move(b).finish();
  ASSERT_EQ(graph.params.size(), 3u);  // the bias is shared
  EXPECT_EQ(graph.params[2].name, "table");
  EXPECT_EQ(graph.params[2].shape, (Shape{5 * 3, 4}));
  EXPECT_EQ(graph.nodes.back().params, (std::vector<int>{2, 1}));
  EXPECT_EQ(count_macs(graph, graph.nodes.back()).total(), 2 * 45 * 6 * 8);
}

TEST(AttentionOps, AnAxisOfOneWindowIsNotShifted) {
  EXPECT_EQ(window_shift(14, 7, true), 3);
  EXPECT_EQ(window_shift(8, 7, true), 3);
  EXPECT_EQ(window_shift(7, 7, true), 0);
  EXPECT_EQ(window_shift(4, 7, true), 0);
  EXPECT_EQ(window_shift(14, 7, false), 0);
}

TEST(AttentionOps, NeighboursAreMergedAndOddEdgesFilled) {
  Builder b;
  EXPECT_EQ(b.grid(b.space_to_depth(b.input("even", {4, 6, 5}))), (Grid{2, 3, 20}));
  EXPECT_EQ(b.grid(b.space_to_depth(b.input("odd", {5, 1, 5}))), (Grid{3, 1, 20}));
}

TEST(AttentionOps, TokenLinearHasAWeightForEachPairOfTokens) {
  Builder b;
  const Value y = b.token_linear(b.input("x", {2, 3, 7}), "mix", kInit, ones_init());
  EXPECT_EQ(b.grid(y), (Grid{2, 3, 7}));
  const Graph graph = std::move(b).finish();
  EXPECT_EQ(graph.params[0].shape, (Shape{6, 6}));
  EXPECT_EQ(graph.params[1].shape, (Shape{6}));
  EXPECT_EQ(count_macs(graph).total(), 6 * 6 * 7);
}

TEST(AttentionOps, ChannelsAreSelectedWithinTheRow) {
  Builder b;
  const Value x = b.input("x", {2, 3, 7});
  EXPECT_EQ(b.grid(b.select_channels(x, 4, 3)), (Grid{2, 3, 3}));
  expect_error(ErrorCode::kInput, {"[select_channels]", "4 channels from 4", "2 x 3 x 7"},
               [&] { b.select_channels(x, 4, 4); });
  expect_error(ErrorCode::kInput, {"[select_channels]", "-1"},
               [&] { b.select_channels(x, -1, 2); });
  expect_error(ErrorCode::kInput, {"[select_channels]", "0 channels"},
               [&] { b.select_channels(x, 0, 0); });
}

}  // namespace
}  // namespace vig::test
