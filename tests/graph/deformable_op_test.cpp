// Shape rule, errors and multiply-adds of the sampling of deformable attention.
#include <gtest/gtest.h>

#include "support/errors.h"
#include "vig/graph/builder.h"

namespace vig::test {
namespace {

struct Operands {
  Builder b;
  Value values, offsets, logits;

  Operands(int positions, int queries, int samples)
      : values(b.input("values", {1, positions, 12})),
        offsets(b.input("offsets", {2, queries / 2, 2 * samples})),
        logits(b.input("logits", {2, queries / 2, samples})) {}
};

// 3 heads of 4 points in levels of 6 and 20 positions, seen from 8 queries.
const DeformableOp kOp{3, 4, {{2, 3}, {4, 5}}, {{2, 4}}};

TEST(DeformableOp, GivesEveryQueryTheChannelsOfTheValues) {
  Operands x(26, 8, 24);
  EXPECT_EQ(x.b.grid(x.b.deformable(x.values, x.offsets, x.logits, kOp)), (Grid{2, 4, 12}));
  const Graph graph = std::move(x.b).finish();
  EXPECT_EQ(count_macs(graph, graph.nodes.back()).total(), 5 * 8 * 12 * 2 * 4);
  EXPECT_STREQ(op_name(graph.nodes.back().op), "deformable");
}

TEST(DeformableOp, RefusesOperandsOfOtherSizes) {
  for (const auto& [positions, queries, samples] :
       {std::tuple(25, 8, 24), {26, 6, 24}, {26, 8, 12}}) {
    Operands x(positions, queries, samples);
    expect_error(ErrorCode::kInput, {"[deformable]", "26", "24", std::to_string(positions)},
                 [&] { x.b.deformable(x.values, x.offsets, x.logits, kOp); });
  }
}

// Each operand by itself is wrong once.
TEST(DeformableOp, ChecksEveryOperand) {
  Builder b;
  const Value values = b.input("values", {1, 26, 12});
  const Value offsets = b.input("offsets", {2, 4, 48}), logits = b.input("logits", {2, 4, 24});
  EXPECT_EQ(b.grid(b.deformable(values, offsets, logits, kOp)), (Grid{2, 4, 12}));
  const std::tuple<Value, Value, Value> wrong[] = {
      {b.input("fewer values", {1, 25, 12}), offsets, logits},
      {values, b.input("fewer offsets", {1, 7, 48}), logits},
      {values, b.input("narrow offsets", {2, 4, 24}), logits},
      {values, offsets, b.input("fewer logits", {1, 7, 24})},
      {values, offsets, b.input("wide logits", {2, 4, 48})}};
  for (const auto& [v, o, l] : wrong) {
    expect_error(ErrorCode::kInput, {"[deformable]", "expected 26, 8 of 48 and 8 of 24"},
                 [&, v = v, o = o, l = l] { b.deformable(v, o, l, kOp); });
  }
}

TEST(DeformableOp, RefusesNoHeadsPointsLevelsOrQueries) {
  const auto expect = [](DeformableOp op) {
    Operands x(26, 8, 24);
    expect_error(ErrorCode::kInput, {"[deformable]"},
                 [&] { x.b.deformable(x.values, x.offsets, x.logits, op); });
  };
  expect({0, 4, kOp.levels, kOp.queries});
  expect({5, 4, kOp.levels, kOp.queries});
  expect({3, 0, kOp.levels, kOp.queries});
  expect({3, 4, {}, kOp.queries});
  expect({3, 4, kOp.levels, {}});
  expect({3, 4, {{-2, -3}, {4, 5}}, kOp.queries});
  expect({3, 4, kOp.levels, {{-2, -4}}});
}

}  // namespace
}  // namespace vig::test
