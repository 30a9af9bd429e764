#include "vig/kernels/window_attention.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "kernels/sheet.h"

namespace vig {
namespace {

using Rows = std::vector<int32_t>;

struct Tokens {
  explicit Tokens(const AttentionWindows& windows) {
    for (int64_t w = 0; w < windows.count(); ++w) {
      rows.emplace_back(static_cast<size_t>(windows.tokens()));
      labels.emplace_back(static_cast<size_t>(windows.tokens()));
      window_tokens(windows, w, rows.back().data(), labels.back().data());
    }
  }
  std::vector<Rows> rows, labels;
};

TEST(WindowTokens, PlainWindowsGoRowByRow) {
  const Tokens tokens({4, 6, 2, 3, 0, 0});
  ASSERT_EQ(tokens.rows.size(), 4u);
  EXPECT_EQ(tokens.rows[0], (Rows{0, 1, 2, 6, 7, 8}));
  EXPECT_EQ(tokens.rows[1], (Rows{3, 4, 5, 9, 10, 11}));
  EXPECT_EQ(tokens.rows[3], (Rows{15, 16, 17, 21, 22, 23}));
  for (const Rows& labels : tokens.labels) {
    EXPECT_EQ(std::set<int32_t>(labels.begin(), labels.end()).size(), 1u);
  }
}

// Map of 4 x 4, windows of 2 x 2, shifted by 1: the last window holds the four corners.
TEST(WindowTokens, ShiftBringsTheEndsTogetherAndLabelsPartThem) {
  const Tokens tokens({4, 4, 2, 2, 1, 1});
  EXPECT_EQ(tokens.rows[0], (Rows{5, 6, 9, 10}));
  EXPECT_EQ(tokens.labels[0], (Rows{0, 0, 0, 0}));
  EXPECT_EQ(tokens.rows[1], (Rows{7, 4, 11, 8}));
  EXPECT_EQ(tokens.labels[1], (Rows{1, 2, 1, 2}));
  EXPECT_EQ(tokens.rows[2], (Rows{13, 14, 1, 2}));
  EXPECT_EQ(tokens.labels[2], (Rows{3, 3, 6, 6}));
  EXPECT_EQ(tokens.rows[3], (Rows{15, 12, 3, 0}));
  EXPECT_EQ(tokens.labels[3], (Rows{4, 5, 7, 8}));
}

// Shifted first, then padded, with the labels of the padded size.
TEST(WindowTokens, PaddingComesAfterTheShift) {
  const Tokens tokens({3, 5, 2, 4, 1, 2});
  ASSERT_EQ(tokens.rows.size(), 4u);
  EXPECT_EQ(tokens.rows[0], (Rows{7, 8, 9, 5, 12, 13, 14, 10}));
  EXPECT_EQ(tokens.rows[1], (Rows{6, -1, -1, -1, 11, -1, -1, -1}));
  EXPECT_EQ(tokens.rows[2], (Rows{2, 3, 4, 0, -1, -1, -1, -1}));
  EXPECT_EQ(tokens.labels[1], (Rows{1, 1, 2, 2, 1, 1, 2, 2}));
  EXPECT_EQ(tokens.labels[2], (Rows{3, 3, 3, 3, 6, 6, 6, 6}));
}

TEST(WindowTokens, EveryRowOfTheMapIsInOneWindow) {
  for (const AttentionWindows& windows :
       {AttentionWindows{13, 9, 7, 7, 3, 3}, AttentionWindows{7, 7, 7, 7, 0, 0},
        AttentionWindows{8, 15, 4, 5, 0, 2}, AttentionWindows{1, 1, 1, 1, 0, 0}}) {
    std::vector<int> seen(static_cast<size_t>(windows.height * windows.width), 0);
    for (const Rows& rows : Tokens(windows).rows) {
      for (const int32_t row : rows) {
        if (row >= 0) ++seen.at(static_cast<size_t>(row));
      }
    }
    for (const int times : seen) EXPECT_EQ(times, 1);
  }
}

// A window of 2 x 3: 3 x 5 distances, two heads.
TEST(RelativeBias, DependsOnWhereTheKeyLiesFromTheQuery) {
  std::vector<float> table(15 * 2), bias(2 * 6 * 6);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i);
  relative_bias(table.data(), 2, 3, 2, bias.data());
  const auto at = [&](int h, int i, int j) {
    return bias[static_cast<size_t>((h * 6 + i) * 6 + j)];
  };
  for (const int h : {0, 1}) {
    EXPECT_EQ(at(h, 0, 0), 7 * 2 + h);  // no distance: the middle of the table
    EXPECT_EQ(at(h, 4, 4), 7 * 2 + h);
    EXPECT_EQ(at(h, 0, 5), 0 * 2 + h);  // one row and two columns before the key
    EXPECT_EQ(at(h, 5, 0), 14 * 2 + h);
    EXPECT_EQ(at(h, 1, 0), 8 * 2 + h);
    EXPECT_EQ(at(h, 3, 0), 12 * 2 + h);
  }
}

// <expand(t), b> = <t, gather(b)> for all t and b.
TEST(RelativeBias, BackwardIsTheAdjoint) {
  test::Sheet table(25, 3), dtable(25, 3), bias(3 * 9, 9), dbias(3 * 9, 9);
  table.noise(1);
  dbias.noise(2);
  dtable.fill([] { return 1e6f; });
  relative_bias(table.data(), 3, 3, 3, bias.data());
  relative_bias_backward(dbias.data(), 3, 3, 3, dtable.data());
  double left = 0.0, right = 0.0;
  for (int64_t i = 0; i < 27; ++i) {
    for (int64_t j = 0; j < 9; ++j) left += static_cast<double>(bias.at(i, j)) * dbias.at(i, j);
  }
  for (int64_t i = 0; i < 25; ++i) {
    for (int64_t h = 0; h < 3; ++h) right += static_cast<double>(table.at(i, h)) * dtable.at(i, h);
  }
  EXPECT_NEAR(left, right, 1e-5);
}

}  // namespace
}  // namespace vig
