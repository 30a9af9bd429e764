// Orders of the positions of a grid, written out.
#include <gtest/gtest.h>

#include "support/errors.h"
#include "vig/graph/builder.h"
#include "vig/graph/scan_path.h"

namespace vig {
namespace {

using Rows = std::vector<int32_t>;

TEST(ScanPath, Lines) {
  // 0 1 2
  // 3 4 5
  EXPECT_EQ(scan_rows({ScanOrder::kRows}, 2, 3), (Rows{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(scan_rows({ScanOrder::kRows, true}, 2, 3), (Rows{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(scan_rows({ScanOrder::kColumns}, 2, 3), (Rows{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(scan_rows({ScanOrder::kColumns, true}, 2, 3), (Rows{5, 2, 4, 1, 3, 0}));
  EXPECT_EQ(scan_rows({ScanOrder::kSnakeRows}, 2, 3), (Rows{0, 1, 2, 5, 4, 3}));
  EXPECT_EQ(scan_rows({ScanOrder::kSnakeRows, true}, 2, 3), (Rows{3, 4, 5, 2, 1, 0}));
  EXPECT_EQ(scan_rows({ScanOrder::kSnakeColumns}, 2, 3), (Rows{0, 3, 4, 1, 2, 5}));
}

TEST(ScanPath, WindowsAreFilledUp) {
  EXPECT_EQ(scan_rows({ScanOrder::kWindows, false, 2}, 2, 3), (Rows{0, 1, 3, 4, 2, -1, 5, -1}));
  EXPECT_EQ(scan_rows({ScanOrder::kWindows, true, 2}, 3, 1), (Rows{-1, -1, -1, 2, -1, 1, -1, 0}));
  EXPECT_EQ(scan_rows({ScanOrder::kWindows, false, 3}, 2, 2),
            (Rows{0, 1, -1, 2, 3, -1, -1, -1, -1}));
}

TEST(ScanPath, SubgridsCoverTheGrid) {
  // 0 1 2
  // 3 4 5
  // 6 7 8
  EXPECT_EQ(scan_rows({ScanOrder::kSubgrid, false, 0}, 3, 3), (Rows{0, 2, 6, 8}));
  EXPECT_EQ(scan_rows({ScanOrder::kSubgrid, false, 1}, 3, 3), (Rows{3, -1, 5, -1}));
  EXPECT_EQ(scan_rows({ScanOrder::kSubgrid, false, 2}, 3, 3), (Rows{1, -1, 7, -1}));
  EXPECT_EQ(scan_rows({ScanOrder::kSubgrid, false, 3}, 3, 3), (Rows{4, -1, -1, -1}));
}

TEST(ScanPath, Moves) {
  // none 0, right 1, left 2, up 3, down 4
  EXPECT_EQ(scan_moves({ScanOrder::kSnakeRows}, 2, 3), (Rows{0, 1, 1, 4, 2, 2}));
  EXPECT_EQ(scan_moves({ScanOrder::kSnakeRows, true}, 2, 3), (Rows{0, 1, 1, 3, 2, 2}));
  EXPECT_EQ(scan_moves({ScanOrder::kSnakeColumns}, 2, 3), (Rows{0, 4, 1, 3, 1, 4}));
  EXPECT_EQ(scan_moves({ScanOrder::kSnakeColumns, true}, 2, 3), (Rows{0, 3, 2, 4, 2, 3}));
  EXPECT_EQ(scan_moves({ScanOrder::kSnakeColumns}, 3, 1), (Rows{0, 4, 4}));
}

TEST(ScanPath, TheReleasedInverseOfColumnsIsTheTrueOneOfSquares) {
  SelectiveScanOp op;
  const ScanPath columns{ScanOrder::kColumns}, back{ScanOrder::kColumns, true};
  EXPECT_EQ(scan_targets(op, columns, 2, 3), scan_rows(columns, 2, 3));
  op.released_columns = true;
  EXPECT_EQ(scan_targets(op, columns, 3, 3), scan_rows(columns, 3, 3));
  // Position p has the result at index (p % 2) * 3 + p / 2.
  EXPECT_EQ(scan_targets(op, columns, 2, 3), (Rows{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(scan_targets(op, back, 2, 3), (Rows{5, 3, 1, 4, 2, 0}));
  EXPECT_EQ(scan_targets(op, {ScanOrder::kRows}, 2, 3), scan_rows({ScanOrder::kRows}, 2, 3));
}

TEST(ScanPath, LengthsAreThoseOfThePaths) {
  for (const ScanPath path :
       {ScanPath{ScanOrder::kRows}, ScanPath{ScanOrder::kSnakeColumns},
        ScanPath{ScanOrder::kWindows, false, 4}, ScanPath{ScanOrder::kSubgrid, false, 3}}) {
    SelectiveScanOp op;
    op.directions = {{path}, {path}};
    const auto length = static_cast<int64_t>(scan_rows(path, 5, 7).size());
    EXPECT_EQ(scan_length(op, 5, 7), 2 * length);
  }
}

// Of the rows of a 2 x 3 grid with a class token as row 3.
TEST(ScanPath, AClassTokenHasTheSameIndexInEveryPath) {
  ScanPath path{ScanOrder::kColumns, false, 0, 3, 3};
  SelectiveScanOp op;
  EXPECT_EQ(scan_rows(path, 1, 7), (Rows{0, 4, 1, 3, 5, 2, 6}));
  EXPECT_EQ(scan_targets(op, path, 1, 7), scan_rows(path, 1, 7));
  op.released_columns = true;
  EXPECT_EQ(scan_targets(op, path, 1, 7), (Rows{0, 2, 5, 3, 1, 4, 6}));
  op.directions = {{path}};
  EXPECT_EQ(scan_length(op, 1, 7), 7);
  path.backward = true;
  EXPECT_EQ(scan_rows(path, 1, 7), (Rows{6, 2, 5, 3, 1, 4, 0}));
  path = {ScanOrder::kWindows, false, 2, 3, 3};
  EXPECT_EQ(scan_rows(path, 1, 7), (Rows{0, 1, 4, 3, 5, 2, -1, 6, -1}));
  op.directions = {{path}};
  EXPECT_EQ(scan_length(op, 1, 7), 9);
}

class ScanBuilder : public testing::Test {
 protected:
  Builder b;
  Value x = b.input("x", {3, 4, 12});
};

TEST_F(ScanBuilder, RangesOfChannels) {
  const Value y =
      b.linear_range(x, {"w", {2, 5, 3}, {2, 1, 4}, "b"}, normal_init(0.02f));  // 1..3 and 5..7
  EXPECT_EQ(b.grid(y), (Grid{3, 4, 10}));
  EXPECT_THROW(b.linear_range(x, {"v", {2, 5, 3}, {2, 6, 4}}, {}), Error);  // 6..8 and 10..12
  EXPECT_THROW(b.linear_range(x, {"u", {5, 3}, {2, 0, 4}}, {}), Error);     // 5 rows in 2 groups
  const Graph graph = std::move(b).finish();
  EXPECT_EQ(graph.params[0].shape, (Shape{2, 5, 3}));
  EXPECT_EQ(graph.params[1].shape, (Shape{10}));
  EXPECT_EQ(count_macs(graph).dense, 12 * 30);
}

TEST_F(ScanBuilder, Sequences) {
  EXPECT_EQ(b.grid(b.conv1d(x, "c", {4, 2, 5}, {}, {})), (Grid{3, 4, 5}));
  const ScanPath windows{ScanOrder::kWindows, false, 3};
  EXPECT_EQ(b.grid(b.conv1d(x, "d", {4, 2, 5, windows, true}, {}, {})), (Grid{1, 18, 5}));
  EXPECT_THROW(b.conv1d(x, "e", {4, 2, 5, windows}, {}, {}), Error);
  EXPECT_THROW(b.conv1d(x, "f", {4, 8, 5}, {}, {}), Error);
  EXPECT_EQ(b.grid(b.q_shift(x, {{"m", {}}, {"n", {}}})), (Grid{3, 4, 24}));
  EXPECT_THROW(b.q_shift(x, {}), Error);
  EXPECT_EQ(b.grid(b.bi_wkv(x, x, {"w", "u", {}, {}}, {})), (Grid{3, 4, 12}));
  EXPECT_THROW(b.bi_wkv(x, b.input("y", {3, 4, 11}), {"p", "q", {}, {}}, {}), Error);
}

TEST_F(ScanBuilder, RangesBeyondTheChannels) {
  const auto refused = [&](const Builder::RangeShape& shape) {
    test::expect_error(ErrorCode::kInput, {"[linear]", "expected them within 12 (w)"},
                       [&] { b.linear_range(x, shape, {}); });
  };
  EXPECT_EQ(b.grid(b.linear_range(x, {"last", {4, 3}, {2, 5, 4}}, {})), (Grid{3, 4, 4}));  // to 11
  refused({"w", {4, 3}, {2, 6, 4}});
  refused({"w", {4, 3}, {1, -1, 0}});
  refused({"w", {4, 3}, {2, 4, -1}});
  refused({"w", {4, 3}, {0, 0, 0}});
  refused({"w", {5, 3}, {2, 0, 3}});
  for (const Builder::Conv1dShape& shape :
       {Builder::Conv1dShape{0, 0, 5}, {4, -1, 5}, {4, 8, 5}, {4, 0, -1}}) {
    test::expect_error(ErrorCode::kInput, {"[conv1d]", "expected channels of 12 (c)"},
                       [&] { b.conv1d(x, "c", shape, {}, {}); });
  }
  EXPECT_EQ(b.grid(b.conv1d(x, "all", {4}, {}, {})), (Grid{3, 4, 12}));
  const Builder::Mix mix{"m", {}};
  EXPECT_EQ(b.grid(b.q_shift(x, {mix, mix, mix})), (Grid{3, 4, 36}));
  test::expect_error(ErrorCode::kInput, {"[q_shift] 4 mixes"}, [&] {
    b.q_shift(x, {mix, mix, mix, mix});
  });
}

// One thing about a good scan is wrong at a time.
TEST_F(ScanBuilder, ScansCheckEveryOperand) {
  const Value few = b.input("few", {3, 3, 12});
  SelectiveScanOp good;
  good.channels = 6;
  good.states = 3;
  good.directions = {{{}, 0, 0, 0, 6, 0, 0}, {{ScanOrder::kColumns}, 0, 6, 0, 0, 0, 6}};
  good.gate = 0;
  good.gate_first = 6;
  const std::vector<Builder::ScanParams> one = {{"a", "d", "bias"}};
  const auto refused = [&](const std::string& words, const auto& change,
                           const std::vector<Builder::ScanParams>& params) {
    SelectiveScanOp op = good;
    change(op);
    test::expect_error(ErrorCode::kInput, {"[selective_scan]", words}, [&] {
      b.selective_scan({x, few}, op, params);
    });
  };
  EXPECT_EQ(b.grid(b.selective_scan({x, few}, good, one)), (Grid{3, 4, 6}));
  refused(
      "0 channels", [](SelectiveScanOp& op) { op.channels = 0; }, one);
  refused(
      "0 states", [](SelectiveScanOp& op) { op.states = 0; }, one);
  refused(
      "0 directions", [](SelectiveScanOp& op) { op.directions.clear(); }, one);
  refused("3 sets of parameters", [](SelectiveScanOp&) {}, {one[0], one[0], one[0]});
  refused(
      "values are channels 0 to 6 of 3 x 3 x 12, expected 12 positions",
      [](SelectiveScanOp& op) { op.directions[0].u = 1; }, one);
  refused(
      "values are channels -1 to 5", [](SelectiveScanOp& op) { op.directions[0].u_first = -1; },
      one);
  refused(
      "values are channels 7 to 13", [](SelectiveScanOp& op) { op.directions[1].u_first = 7; },
      one);
  refused(
      "steps are channels 6 to 12 of 3 x 3",
      [](SelectiveScanOp& op) { op.directions[0].steps = 1; }, one);
  refused(
      "steps are channels 7 to 13", [](SelectiveScanOp& op) { op.directions[0].step_first = 7; },
      one);
  refused(
      "B and C are channels 0 to 6 of 3 x 3",
      [](SelectiveScanOp& op) { op.directions[0].rates = 1; }, one);
  refused(
      "B and C are channels 7 to 13", [](SelectiveScanOp& op) { op.directions[1].rate_first = 7; },
      one);
  refused(
      "gates are channels 6 to 12 of 3 x 3", [](SelectiveScanOp& op) { op.gate = 1; }, one);
  refused(
      "gates are channels 7 to 13", [](SelectiveScanOp& op) { op.gate_first = 7; }, one);
  for (const ScanPath path :
       {ScanPath{ScanOrder::kWindows, false, 0}, ScanPath{ScanOrder::kSubgrid, false, 4},
        ScanPath{ScanOrder::kSubgrid, false, -1}}) {
    refused(
        fmt::format("part {} of a path", path.part),
        [&](SelectiveScanOp& op) { op.directions[0].path = path; }, one);
  }
  // Two directions take two sets of the four that are the parameters' rows.
  const auto sets = [](int first) {
    return [first](SelectiveScanOp& op) {
      op.sets = 4;
      op.first_set = first;
    };
  };
  refused("2 directions from set 3 on, expected sets of 4", sets(3), {{"a4", "d4", "bias4"}});
  refused("2 directions from set -1 on", sets(-1), {{"a4", "d4", "bias4"}});
  SelectiveScanOp last = good;
  sets(2)(last);
  b.selective_scan({x, few}, last, {{"a4", "d4", "bias4"}});
  EXPECT_EQ(std::move(b).finish().params.back().shape, (Shape{4, 6}));
}

TEST_F(ScanBuilder, Scans) {
  SelectiveScanOp op;
  op.channels = 6;
  op.states = 3;
  op.directions = {{{}, 0, 0, 0, 6, 0, 0}, {{ScanOrder::kColumns}, 0, 6, 0, 0, 0, 6}};
  EXPECT_EQ(b.grid(b.selective_scan({x}, op, {{"a", "d", "bias"}})), (Grid{3, 4, 6}));
  EXPECT_THROW(b.selective_scan({x}, op, {}), Error);
  op.directions[1].rate_first = 7;
  EXPECT_THROW(b.selective_scan({x}, op, {{"a", "d", "bias"}}), Error);
  op.directions[1].rate_first = 6;
  op.taking = SelectiveScanOp::Taking::kSequences;
  op.directions[0].path = {ScanOrder::kWindows, false, 3};
  EXPECT_THROW(b.selective_scan({x}, op, {{"a", "d", "bias"}}), Error);  // 18 rows
  const Graph graph = std::move(b).finish();
  EXPECT_EQ(graph.params[0].shape, (Shape{12, 3}));
  EXPECT_EQ(graph.params[2].shape, (Shape{2, 6}));
  EXPECT_FALSE(graph.params[0].decayed);
  EXPECT_EQ(count_macs(graph).scan, 2 * 12 * 6 * (4 * 3 + 2));
}

}  // namespace
}  // namespace vig
