// Rows of floats for kernel tests, at odd offsets and with gaps between the rows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace vig::test {

// Nothing may be read from the gaps (they hold NaN, which would show in the result) nor written to
// them. The allocation ends with the last row, so that the address sanitiser sees the first float
// beyond it.
class Sheet {
 public:
  Sheet(int64_t rows, int64_t width, int64_t gap = 0, int64_t offset = 0)
      : stride(width + gap),
        rows_(rows),
        width_(width),
        offset_(offset),
        floats_(static_cast<size_t>(offset + (rows == 0 ? 0 : (rows - 1) * stride + width)),
                std::numeric_limits<float>::quiet_NaN()) {}

  float* data() { return floats_.data() + offset_; }
  const float* data() const { return floats_.data() + offset_; }
  float& at(int64_t row, int64_t column) { return data()[row * stride + column]; }
  float at(int64_t row, int64_t column) const { return data()[row * stride + column]; }
  int64_t rows() const { return rows_; }
  int64_t width() const { return width_; }

  template <class F>
  void fill(const F& value) {
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t c = 0; c < width_; ++c) at(r, c) = value();
    }
  }
  // Uniform in [low, high); the same values for the same seed.
  Sheet& noise(uint32_t seed, float low = -1.0f, float high = 1.0f) {
    std::mt19937 random(seed);
    fill([&] { return low + (high - low) * static_cast<float>(random() >> 8) * 0x1p-24f; });
    return *this;
  }

  bool gaps_untouched() const {
    size_t untouched = 0;
    for (const float x : floats_) untouched += std::isnan(x);
    return untouched == floats_.size() - static_cast<size_t>(rows_ * width_);
  }

  const int64_t stride;

 private:
  int64_t rows_;
  int64_t width_;
  int64_t offset_;
  std::vector<float> floats_;
};

// The largest difference; NaN in either is infinitely far away.
inline double distance(const Sheet& a, const Sheet& b) {
  double largest = 0.0;
  for (int64_t r = 0; r < a.rows(); ++r) {
    for (int64_t c = 0; c < a.width(); ++c) {
      const double d = std::fabs(static_cast<double>(a.at(r, c)) - b.at(r, c));
      largest = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(largest, d);
    }
  }
  return largest;
}

inline bool same_bits(const Sheet& a, const Sheet& b) {
  for (int64_t r = 0; r < a.rows(); ++r) {
    for (int64_t c = 0; c < a.width(); ++c) {
      if (std::bit_cast<uint32_t>(a.at(r, c)) != std::bit_cast<uint32_t>(b.at(r, c))) return false;
    }
  }
  return true;
}

// Whether these rows of a new sheet were written and no others were: threads share a sheet.
inline bool wrote_only(const Sheet& sheet, int64_t first, int64_t last) {
  for (int64_t r = 0; r < sheet.rows(); ++r) {
    for (int64_t c = 0; c < sheet.width(); ++c) {
      if (std::isnan(sheet.at(r, c)) == (first <= r && r < last)) return false;
    }
  }
  return true;
}

inline double largest_magnitude(const Sheet& a) {
  double largest = 0.0;
  for (int64_t r = 0; r < a.rows(); ++r) {
    for (int64_t c = 0; c < a.width(); ++c) {
      largest = std::max(largest, static_cast<double>(std::fabs(a.at(r, c))));
    }
  }
  return largest;
}

}  // namespace vig::test
