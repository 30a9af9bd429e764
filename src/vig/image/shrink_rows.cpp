#include "vig/image/shrink_rows.h"

#include <algorithm>

#include "vig/base/error.h"

namespace vig {

RowShrinker::RowShrinker(int64_t width, int64_t height, int side)
    : width_(width), height_(height), factor_(1) {
  if (width < 1 || height < 1 || side < 1) {
    fail_usage("{}x{} pixels to at most {}, expected at least 1", width, height, side);
  }
  factor_ = (std::max(width, height) + side - 1) / side;
  small_ = Image(static_cast<int>((width + factor_ - 1) / factor_),
                 static_cast<int>((height + factor_ - 1) / factor_));
  sums_.assign(small_.row_bytes(), 0);
}

void RowShrinker::add(const uint8_t* rows, int64_t count) {
  if (count < 0 || count > height_ - row_) {
    fail_usage("{} rows after {}, expected {} in all", count, row_, height_);
  }
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* row = rows + i * width_ * 3;
    for (int64_t x = 0; x < width_; ++x) {
      uint64_t* sum = sums_.data() + x / factor_ * 3;
      for (int64_t c = 0; c < 3; ++c) sum[c] += row[x * 3 + c];
    }
    ++row_;
    if (row_ % factor_ == 0 || row_ == height_) end_row();
  }
}

void RowShrinker::end_row() {
  const int64_t y = (row_ - 1) / factor_;
  const int64_t rows = row_ - y * factor_;
  uint8_t* out = small_.row(static_cast<int>(y));
  for (int64_t x = 0; x < small_.width; ++x) {
    const auto pixels =
        static_cast<uint64_t>(rows * (std::min((x + 1) * factor_, width_) - x * factor_));
    for (int64_t c = 0; c < 3; ++c) {
      out[x * 3 + c] =
          static_cast<uint8_t>((sums_[static_cast<size_t>(x * 3 + c)] + pixels / 2) / pixels);
    }
  }
  std::ranges::fill(sums_, 0);
}

Image RowShrinker::finish() { return std::move(small_); }

}  // namespace vig
