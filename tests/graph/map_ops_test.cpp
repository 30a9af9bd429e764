// Shape rules, errors, multiply-adds and fusing of operations on maps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/errors.h"
#include "support/init.h"
#include "vig/graph/builder.h"
#include "vig/graph/fuse.h"

namespace vig::test {
namespace {

TEST(MapOps, PoolingMakesAGridOfCells) {
  Builder b;
  const Value x = b.input("x", {7, 10, 5});
  EXPECT_EQ(b.grid(b.adaptive_pool(x, 3)), (Grid{3, 3, 5}));
  EXPECT_EQ(b.grid(b.adaptive_pool(x, 20)), (Grid{20, 20, 5}));
  expect_error(ErrorCode::kInput, {"[adaptive_pool]", "0 x 0 cells"},
               [&] { b.adaptive_pool(x, 0); });
}

TEST(MapOps, ResizingKeepsTheChannels) {
  Builder b;
  const Value x = b.input("x", {7, 10, 5});
  EXPECT_EQ(b.grid(b.resize(x, 3, 40, Resampling::kBilinear)), (Grid{3, 40, 5}));
  for (const auto& [height, width] : {std::pair(0, 4), std::pair(4, -1)}) {
    expect_error(ErrorCode::kInput, {"[resize]", "expected at least 1 x 1"},
                 [&] { b.resize(x, height, width, Resampling::kNearest); });
  }
  EXPECT_NE(ResizeOp{Resampling::kBilinear}, ResizeOp{Resampling::kNearest});
}

TEST(MapOps, UpsamplingDoublesTheGrid) {
  Builder b;
  const Value x = b.input("x", {7, 10, 5});
  EXPECT_EQ(b.grid(b.upsample_conv(x, "up", 3, kInit)), (Grid{14, 20, 3}));
  expect_error(ErrorCode::kInput, {"[upsample_conv]", "0 channels", "none"},
               [&] { b.upsample_conv(x, "none", 0, kInit); });
  const Graph graph = std::move(b).finish();
  EXPECT_EQ(graph.params[0].shape, (Shape{5, 3, 2, 2}));
  EXPECT_EQ(graph.params[1].shape, (Shape{3}));
  EXPECT_EQ(count_macs(graph).total(), 14 * 20 * 5 * 3);
}

TEST(MapOps, ChannelsOfEqualGridsAreConcatenated) {
  Builder b;
  const Value x = b.input("x", {7, 10, 5}), y = b.input("y", {7, 10, 8});
  EXPECT_EQ(b.grid(b.concat_channels({x, y, x})), (Grid{7, 10, 18}));
  const Value other = b.input("other", {7, 9, 5});
  expect_error(ErrorCode::kInput, {"[concat_channels]", "7 x 10", "7 x 9"}, [&] {
    b.concat_channels({x, other});
  });
  expect_error(ErrorCode::kInput, {"[concat_channels]", "no operand"},
               [&] { b.concat_channels({}); });
}

TEST(MapOps, RowsOfATableAreAdded) {
  Builder b;
  const Value x = b.input("x", {7, 10, 5});
  const Value y = b.add_row(x, "table", 3, 2, kInit);
  EXPECT_EQ(b.grid(y), (Grid{7, 10, 5}));
  for (const int row : {-1, 3}) {
    expect_error(ErrorCode::kInput, {"[add_row]", "row " + std::to_string(row), "one of 3"},
                 [&] { b.add_row(x, "table", 3, row, kInit); });
  }
  const Graph graph = std::move(b).finish();
  EXPECT_EQ(graph.params[0].shape, (Shape{3, 5}));
}

TEST(MapOps, ChannelsAreDroppedByAProbability) {
  Builder b;
  const Value x = b.input("x", {7, 10, 5});
  EXPECT_EQ(b.grid(b.drop_channels(x, 0.1f)), (Grid{7, 10, 5}));
  for (const float rate : {-0.1f, 1.0f, NAN}) {
    expect_error(ErrorCode::kInput, {"[drop_channels]", "expected 0 to below 1"},
                 [&] { b.drop_channels(x, rate); });
  }
}

TEST(MapOps, ALayerOfAGridWeighsEveryPosition) {
  Builder b;
  const Value x = b.input("x", {7, 7, 5});
  EXPECT_EQ(b.grid(b.linear_of_grid(x, "fc", 11, kInit)), (Grid{1, 1, 11}));
  const Value oblong = b.input("oblong", {7, 6, 5});
  expect_error(ErrorCode::kInput, {"[linear_of_grid]", "7 x 6", "other"},
               [&] { b.linear_of_grid(oblong, "other", 11, kInit); });
  const Graph graph = std::move(b).finish();
  EXPECT_EQ(graph.params[0].shape, (Shape{11, 7 * 7 * 5}));
  EXPECT_EQ(count_macs(graph).total(), 11 * 7 * 7 * 5);
}

// The unit that makes a value, if there is one.
const FusedNode* maker_of(const std::vector<FusedNode>& units, Value value) {
  const auto unit = std::find_if(units.begin(), units.end(),
                                 [&](const FusedNode& u) { return u.result == value.id; });
  return unit == units.end() ? nullptr : &*unit;
}

TEST(MapOps, ResizingAndUpsamplingAddWhatIsThere) {
  Builder b;
  const Value coarse = b.input("coarse", {3, 4, 5}), fine = b.input("fine", {6, 8, 5});
  const Value resized = b.resize(coarse, 6, 8, Resampling::kBilinear);
  const Value sum = b.add(fine, resized);
  const Value doubled = b.upsample_conv(coarse, "up", 5, kInit);
  const Value relu = b.activation(b.add(doubled, sum), Elementwise::kRelu);
  // A norm behind it stays by itself: weights of other axes than a convolution's.
  const Value norm = b.batch_norm(b.upsample_conv(coarse, "again", 5, kInit), "bn");
  // What exists later cannot be added.
  const Value early = b.resize(coarse, 6, 8, Resampling::kNearest);
  const Value late = b.add(early, b.activation(norm, Elementwise::kGelu));
  b.output("a", relu);
  b.output("b", late);
  const Graph graph = std::move(b).finish();
  const std::vector<FusedNode> units = fuse(graph);
  ASSERT_NE(maker_of(units, sum), nullptr);
  EXPECT_EQ(maker_of(units, sum)->node, resized.id);
  EXPECT_EQ(maker_of(units, sum)->residual, fine.id);
  ASSERT_NE(maker_of(units, relu), nullptr);
  EXPECT_EQ(maker_of(units, relu)->node, doubled.id);
  EXPECT_EQ(maker_of(units, relu)->residual, sum.id);
  EXPECT_EQ(maker_of(units, relu)->function, Elementwise::kRelu);
  ASSERT_NE(maker_of(units, norm), nullptr);
  EXPECT_EQ(maker_of(units, norm)->node, norm.id);
  ASSERT_NE(maker_of(units, late), nullptr);
  EXPECT_EQ(maker_of(units, late)->node, late.id);
}

}  // namespace
}  // namespace vig::test
