#include "vig/kernels/position.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/sheet.h"
#include "vig/kernels/reference/position.h"

namespace vig {
namespace {

using test::Sheet;

struct Case {
  int64_t rows, cols, out_rows, out_cols, channels;
};

PositionArgs arguments(const Case& c, Sheet& table, Sheet& out) {
  return {table.data(), c.rows, c.cols, c.channels, out.data(), c.out_rows, c.out_cols};
}

// Positions are float: near entry 128 they are rounded to 1e-5 of an entry, and the cubic's slope
// is about 1.
constexpr double kTolerance = 5e-5;

constexpr Case kCases[] = {{14, 14, 14, 14, 5}, {14, 14, 16, 16, 3}, {14, 14, 7, 9, 4},
                           {14, 14, 64, 37, 2}, {1, 1, 5, 3, 2},     {2, 3, 8, 1, 1},
                           {5, 1, 1, 7, 3},     {7, 9, 3, 50, 1},    {128, 3, 100, 2, 1},
                           {3, 4, 2, 2, 0}};

TEST(Position, EqualsReference) {
  for (const Case& c : kCases) {
    Sheet table(c.rows * c.cols, c.channels), fast(c.out_rows * c.out_cols, c.channels);
    table.noise(static_cast<uint32_t>(c.rows * 100 + c.out_cols));
    Sheet slow = fast;
    resize_positions(arguments(c, table, fast));
    reference::resize_positions(arguments(c, table, slow));
    EXPECT_LE(test::distance(fast, slow), kTolerance) << c.out_rows << " x " << c.out_cols;
  }
}

TEST(Position, SomeCellsGiveTheSameBits) {
  for (const Case& c : kCases) {
    Sheet table(c.rows * c.cols, c.channels), whole(c.out_rows * c.out_cols, c.channels);
    table.noise(7);
    Sheet parts = whole;
    resize_positions(arguments(c, table, whole));
    const int64_t cells = c.out_rows * c.out_cols;
    for (int64_t first = 0; first < cells; first += 5) {
      PositionArgs args = arguments(c, table, parts);
      args.out += first * c.channels;
      resize_positions(args, first, std::min(cells, first + 5), c.channels);
    }
    EXPECT_TRUE(test::same_bits(whole, parts)) << c.out_rows << " x " << c.out_cols;
  }
}

TEST(Position, SameSizeIsACopy) {
  const Case c = {14, 12, 14, 12, 6};
  Sheet table(c.rows * c.cols, c.channels), out(c.rows * c.cols, c.channels);
  table.noise(3);
  resize_positions(arguments(c, table, out));
  EXPECT_TRUE(test::same_bits(table, out));
}

PositionBackwardArgs arguments_back(const Case& c, const Sheet& dout, Sheet& dtable) {
  return {dout.data(), c.out_rows, c.out_cols, c.channels, dtable.data(), c.rows, c.cols};
}

// Each entry sums up to 200 of the forward pass's weights, those wrong by kTolerance at most.
TEST(Position, BackwardEqualsReference) {
  for (const Case& c : kCases) {
    Sheet dout(c.out_rows * c.out_cols, c.channels), fast(c.rows * c.cols, c.channels, 0, 1);
    dout.noise(static_cast<uint32_t>(c.rows * 100 + c.out_cols));
    Sheet slow = fast;
    resize_positions_backward(arguments_back(c, dout, fast));
    reference::resize_positions_backward(arguments_back(c, dout, slow));
    EXPECT_LE(test::distance(fast, slow), kTolerance) << c.out_rows << " x " << c.out_cols;
    EXPECT_TRUE(fast.gaps_untouched());
  }
}

// <resize(t), d> = <t, backward(d)> for tables and gradients that are 1 at one position.
TEST(Position, BackwardReferenceIsTheAdjoint) {
  const Case c = {3, 4, 5, 2, 1};
  Sheet table(c.rows * c.cols, 1), out(c.out_rows * c.out_cols, 1), dout = out, dtable = table;
  for (int64_t entry = 0; entry < table.rows(); ++entry) {
    table.fill([] { return 0.0f; });
    table.at(entry, 0) = 1.0f;
    reference::resize_positions(arguments(c, table, out));
    for (int64_t position = 0; position < out.rows(); ++position) {
      dout.fill([] { return 0.0f; });
      dout.at(position, 0) = 1.0f;
      reference::resize_positions_backward(arguments_back(c, dout, dtable));
      EXPECT_FLOAT_EQ(dtable.at(entry, 0), out.at(position, 0)) << entry << " " << position;
    }
  }
}

}  // namespace
}  // namespace vig
