#include "vig/kernels/position.h"

#include <gtest/gtest.h>

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

// Places are float: near entry 128 they are rounded to 1e-5 of a step, and the cubic's slope is
// about 1.
constexpr double kTolerance = 5e-5;

TEST(Position, EqualsTwin) {
  for (const Case& c :
       {Case{14, 14, 14, 14, 5}, Case{14, 14, 16, 16, 3}, Case{14, 14, 7, 9, 4},
        Case{14, 14, 64, 37, 2}, Case{1, 1, 5, 3, 2}, Case{2, 3, 8, 1, 1}, Case{5, 1, 1, 7, 3},
        Case{7, 9, 3, 50, 1}, Case{128, 3, 100, 2, 1}, Case{3, 4, 2, 2, 0}}) {
    Sheet table(c.rows * c.cols, c.channels), fast(c.out_rows * c.out_cols, c.channels);
    table.noise(static_cast<uint32_t>(c.rows * 100 + c.out_cols));
    Sheet slow = fast;
    resize_positions(arguments(c, table, fast));
    reference::resize_positions(arguments(c, table, slow));
    EXPECT_LE(test::distance(fast, slow), kTolerance) << c.out_rows << " x " << c.out_cols;
  }
}

TEST(Position, SameSizeIsACopy) {
  const Case c = {14, 12, 14, 12, 6};
  Sheet table(c.rows * c.cols, c.channels), out(c.rows * c.cols, c.channels);
  table.noise(3);
  resize_positions(arguments(c, table, out));
  EXPECT_TRUE(test::same_bits(table, out));
}

}  // namespace
}  // namespace vig
