#include "vig/tasks/label_pixels.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "support/errors.h"
#include "tasks/dense_golden.h"

namespace vig {
namespace {

using test::DenseGolden;

TEST(SlidingWindows, AreThoseOfTheGoldenCase) {
  const DenseGolden golden("slide");
  const std::vector<std::pair<int, int>> sizes = {{40, 56}, {24, 24}, {16, 50}, {41, 25}};
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::vector<int64_t> expected = golden.integers("windows/" + std::to_string(i));
    const auto found = sliding_windows(sizes[i].second, sizes[i].first, 24, 16);
    ASSERT_EQ(found.size() * 4, expected.size());
    for (size_t k = 0; k < found.size(); ++k) {
      EXPECT_EQ(found[k].y, expected[4 * k]);
      EXPECT_EQ(found[k].x, expected[4 * k + 1]);
      EXPECT_EQ(found[k].y + found[k].height, expected[4 * k + 2]);
      EXPECT_EQ(found[k].x + found[k].width, expected[4 * k + 3]);
    }
  }
}

TEST(SlidingWindows, EndWithTheImage) {
  const auto windows = sliding_windows(2048, 512, 512, 341);
  EXPECT_EQ(count_windows(2048, 512, 512, 341), static_cast<int64_t>(windows.size()));
  EXPECT_EQ(count_windows(900, 700, 512, 0), 1);
  EXPECT_EQ(count_windows(8192, 8192, 1, 1), int64_t{1} << 26);
  ASSERT_EQ(windows.size(), 6u);
  EXPECT_EQ(windows[4], (InputWindow{1364, 0, 512, 512}));
  EXPECT_EQ(windows[5], (InputWindow{1536, 0, 512, 512}));
  EXPECT_EQ(sliding_windows(512, 256, 512, 341), (std::vector<InputWindow>{{0, 0, 512, 256}}));
  EXPECT_EQ(sliding_windows(900, 700, 512, 0), (std::vector<InputWindow>{{0, 0, 900, 700}}));
}

TEST(SlidingWindows, NonsenseIsRefused) {
  for (const auto& [width, height, side, stride] :
       std::vector<std::array<int, 4>>{{0, 5, 4, 2}, {5, 0, 4, 2}, {5, 5, 0, 2}, {5, 5, 4, -1}}) {
    test::expect_error(
        ErrorCode::kUsage, {"windows of"},
        [&, w = width, h = height, s = side, t = stride] { sliding_windows(w, h, s, t); });
  }
  EXPECT_EQ(sliding_windows(5, 4, 0, 0), (std::vector<InputWindow>{{0, 0, 5, 4}}));
}

// The stand-in network of the golden case: a rectifier, and a convolution that sees its borders.
std::vector<float> stand_in(const std::vector<float>& input, int width, const InputWindow& window,
                            const DenseGolden& golden) {
  const std::vector<float> weight = golden.floats("weight"), bias = golden.floats("bias");
  std::vector<float> out;
  for (int y = 0; y < window.height; ++y) {
    for (int x = 0; x < window.width; ++x) {
      for (size_t k = 0; k < 4; ++k) {
        double sum = bias[k];
        for (int dy = -1; dy <= 1; ++dy) {
          for (int dx = -1; dx <= 1; ++dx) {
            if (y + dy < 0 || y + dy >= window.height || x + dx < 0 || x + dx >= window.width) {
              continue;
            }
            const auto at = static_cast<size_t>((window.y + y + dy) * width + window.x + x + dx);
            for (size_t c = 0; c < 3; ++c) {
              const auto tap = static_cast<size_t>((dy + 1) * 3 + dx + 1);
              sum += std::max(0.0f, input[at * 3 + c]) * weight[(k * 3 + c) * 9 + tap];
            }
          }
        }
        out.push_back(static_cast<float>(sum));
      }
    }
  }
  return out;
}

TEST(LabelPixels, AgreesWithTheGoldenCase) {
  const DenseGolden golden("slide");
  ThreadPool pool(2);
  for (const std::string i : {"0", "1", "2", "3"}) {
    const Shape& shape = golden.shape("input/" + i);
    const auto height = static_cast<int>(shape[2]), width = static_cast<int>(shape[3]);
    const std::vector<float> input = golden.map("input/" + i);
    std::vector<WindowLogits> windows;
    for (const InputWindow& window : sliding_windows(width, height, 24, 16)) {
      windows.push_back(
          {window, window.height, window.width, stand_in(input, width, window, golden)});
    }
    const LogitField field(width, height, 4, std::move(windows));
    const std::vector<float> logits = golden.map("logits/" + i);
    std::vector<float> row(static_cast<size_t>(width) * 4), scratch;
    double worst = 0;
    for (int y = 0; y < height; ++y) {
      field.row(y, row, scratch);
      for (size_t k = 0; k < row.size(); ++k) {
        worst = std::max<double>(
            worst, std::abs(row[k] - logits[static_cast<size_t>(y) * row.size() + k]));
      }
    }
    EXPECT_LT(worst, 1e-5);

    const Shape& original = golden.shape("pred/" + i);
    const auto out_height = static_cast<int>(original[1]),
               out_width = static_cast<int>(original[2]);
    const Segmentation found = label_pixels(field, out_width, out_height, true, pool);
    const std::vector<int64_t> labels = golden.integers("pred/" + i);
    const std::vector<float> resized = golden.map("resized/" + i);
    worst = 0;
    for (size_t p = 0; p < labels.size(); ++p) {
      std::vector<float> sorted(resized.begin() + static_cast<std::ptrdiff_t>(p * 4),
                                resized.begin() + static_cast<std::ptrdiff_t>(p * 4 + 4));
      double sum = 0;
      for (float value : sorted) sum += std::exp(static_cast<double>(value));
      for (size_t k = 0; k < 4; ++k) {
        worst = std::max(worst, std::abs(found.probabilities[p * 4 + k] -
                                         std::exp(static_cast<double>(sorted[k])) / sum));
      }
      std::ranges::sort(sorted);
      if (sorted[3] - sorted[2] > 1e-4f) {
        EXPECT_EQ(found.labels.labels[p], labels[p]) << p;
      }
    }
    EXPECT_LT(worst, 1e-5);
  }
}

TEST(LabelPixels, AreTheSameBitsForAnyThreadPool) {
  std::vector<WindowLogits> windows = {{{0, 0, 40, 32}, 8, 10, {}}, {{20, 0, 20, 32}, 8, 5, {}}};
  uint32_t state = 1;
  for (WindowLogits& one : windows) {
    one.logits.resize(static_cast<size_t>(one.height) * static_cast<size_t>(one.width) * 3);
    for (float& value : one.logits) {
      value = static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) / (1 << 20);
    }
  }
  const LogitField field(40, 32, 3, windows);
  ThreadPool one(1), three(3);
  const Segmentation a = label_pixels(field, 91, 77, true, one);
  const Segmentation b = label_pixels(field, 91, 77, true, three);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.probabilities, b.probabilities);
  EXPECT_TRUE(label_pixels(field, 91, 77, false, one).probabilities.empty());
}

TEST(LabelPixels, OfEqualClassesTheFirstIsTaken) {
  ThreadPool pool(1);
  const LogitField field(1, 1, 3, {{{0, 0, 1, 1}, 1, 1, {-1.0f, 2.0f, 2.0f}}});
  EXPECT_EQ(label_pixels(field, 2, 1, false, pool).labels.labels, (std::vector<uint8_t>{1, 1}));
}

TEST(LabelPixels, RefusesWhatIsNotFiniteAndTooManyClasses) {
  test::expect_error(ErrorCode::kInput, {"not finite"}, [] {
    LogitField(1, 1, 2, {{{0, 0, 1, 1}, 1, 1, {0.0f, NAN}}});
  });
  for (const InputWindow& window :
       {InputWindow{0, 0, 5, 5}, {0, 0, 4, 6}, {-1, 0, 4, 5}, {0, -1, 4, 5}, {1, 0, 4, 5}}) {
    test::expect_error(ErrorCode::kUsage, {"do not fit", "4x5"}, [&] {
      LogitField(4, 5, 2, {{window, 1, 1, {0.0f, 0.0f}}});
    });
  }
  for (const size_t floats : {0u, 1u, 3u}) {
    test::expect_error(ErrorCode::kUsage, {"do not fit"}, [&] {
      LogitField(4, 5, 2, {{{0, 0, 4, 5}, 1, 1, std::vector<float>(floats)}});
    });
  }
  ThreadPool pool(1);
  const LogitField many(1, 1, 256, {{{0, 0, 1, 1}, 1, 1, std::vector<float>(256)}});
  test::expect_error(ErrorCode::kInput, {"256 classes", "255"},
                     [&] { label_pixels(many, 1, 1, false, pool); });
  std::vector<float> logits(255);
  logits.back() = 1;
  const LogitField most(1, 1, 255, {{{0, 0, 1, 1}, 1, 1, logits}});
  EXPECT_EQ(label_pixels(most, 1, 1, false, pool).labels.labels, std::vector<uint8_t>{254});
}

}  // namespace
}  // namespace vig
