#include "vig/tasks/paste_mask.h"

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"

namespace vig {
namespace {

// Pixel `at` in cells, whose centres lie at 0, 1, ...
float cell_position(int at, float first, float last, int side) {
  return (static_cast<float>(at) + 0.5f - first) / (last - first) * static_cast<float>(side) - 0.5f;
}

// Which pixels of [0, size) may lie within a cell of the box's cells.
SpreadMask::Range reach(float first, float last, int side, int size) {
  if (!(last > first)) return {};
  const double cell = (static_cast<double>(last) - first) / side;
  const auto limit = [&](double value) {
    return static_cast<int>(std::clamp(value, 0.0, static_cast<double>(size)));
  };
  return {limit(std::floor(first - cell) - 1), limit(std::ceil(last + cell) + 1)};
}

// Runs of zeros and ones in turn, from one of zeros on.
class RunWriter {
 public:
  explicit RunWriter(std::vector<uint32_t>& runs) : runs_(runs) {}

  void append(bool one, int64_t count) {
    if (count == 0) return;
    if (one != one_) {
      runs_.push_back(run_);
      run_ = 0;
      one_ = one;
    }
    run_ += static_cast<uint32_t>(count);
  }
  void finish() { runs_.push_back(run_); }

 private:
  std::vector<uint32_t>& runs_;
  uint32_t run_ = 0;
  bool one_ = false;
};

}  // namespace

SpreadMask::SpreadMask(std::span<const float> probabilities, int side, const Box& box)
    : probabilities_(probabilities), side_(side), box_(box) {
  const auto cells = static_cast<size_t>(side);
  if (side < 1 || probabilities.size() != cells * cells) {
    fail_usage("a mask of {} values, expected {}x{}", probabilities.size(), side, side);
  }
  line_.resize(cells);
}

SpreadMask::Range SpreadMask::columns(int width) const {
  return box_.height() > 0 ? reach(box_.x1, box_.x2, side_, width) : Range{};
}

SpreadMask::Range SpreadMask::rows(int height) const {
  return box_.width() > 0 ? reach(box_.y1, box_.y2, side_, height) : Range{};
}

void SpreadMask::column(int x, std::span<float> out) {
  std::ranges::fill(out, 0.0f);
  if (!(box_.width() > 0 && box_.height() > 0)) return;
  const float u = cell_position(x, box_.x1, box_.x2, side_);
  if (!(u > -1.0f && u < static_cast<float>(side_))) return;
  const auto left = static_cast<int>(std::floor(u));
  const float right_weight = u - static_cast<float>(left);
  for (int row = 0; row < side_; ++row) {
    const float* cells = probabilities_.data() + static_cast<std::ptrdiff_t>(row) * side_;
    const float a = left >= 0 ? cells[left] : 0.0f;
    const float b = left + 1 < side_ ? cells[left + 1] : 0.0f;
    line_[static_cast<size_t>(row)] = (1.0f - right_weight) * a + right_weight * b;
  }
  const Range range = rows(static_cast<int>(out.size()));
  for (int y = range.first; y < range.last; ++y) {
    const float v = cell_position(y, box_.y1, box_.y2, side_);
    if (!(v > -1.0f && v < static_cast<float>(side_))) continue;
    const auto top = static_cast<int>(std::floor(v));
    const float bottom_weight = v - static_cast<float>(top);
    const float a = top >= 0 ? line_[static_cast<size_t>(top)] : 0.0f;
    const float b = top + 1 < side_ ? line_[static_cast<size_t>(top) + 1] : 0.0f;
    out[static_cast<size_t>(y)] = (1.0f - bottom_weight) * a + bottom_weight * b;
  }
}

Mask paste_mask(std::span<const float> probabilities, int side, const Box& box, int width,
                int height) {
  SpreadMask spread(probabilities, side, box);
  const SpreadMask::Range columns = spread.columns(width), rows = spread.rows(height);
  Mask mask{width, height, {}};
  RunWriter runs(mask.runs);
  runs.append(false, int64_t{columns.first} * height);
  std::vector<float> column(static_cast<size_t>(height));
  for (int x = columns.first; x < columns.last; ++x) {
    spread.column(x, column);
    runs.append(false, rows.first);
    for (int y = rows.first; y < rows.last; ++y) {
      runs.append(column[static_cast<size_t>(y)] >= 0.5f, 1);
    }
    runs.append(false, height - rows.last);
  }
  runs.append(false, int64_t{width - columns.last} * height);
  runs.finish();
  return mask;
}

}  // namespace vig
