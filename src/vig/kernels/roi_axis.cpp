#include "vig/kernels/roi_axis.h"

#include <algorithm>
#include <cmath>

#include "vig/kernels/roi_align.h"

namespace vig {
namespace {

constexpr float kFarthest = 1e12f;

// The two pixels around a position and what the second one counts.
struct Taps {
  Taps(double position, int64_t size) {
    const double inside = std::clamp(position, 0.0, static_cast<double>(size - 1));
    first = static_cast<int64_t>(inside);
    second = std::min(first + 1, size - 1);
    weight = inside - static_cast<double>(first);
  }
  int64_t first, second;
  double weight;
};

}  // namespace

RoiAxis::RoiAxis(float low, float high, float scale, int side, int sampling_ratio, int64_t size)
    : first_(static_cast<size_t>(side), 0), begin_(first_.size() + 1, 0) {
  const float start = low * scale - 0.5f, length = high * scale - 0.5f - start;
  const float cell = length / static_cast<float>(side);
  if (!(std::fabs(start) <= kFarthest && std::fabs(length) <= kFarthest)) return;
  const double samples = sampling_ratio > 0 ? static_cast<double>(sampling_ratio)
                                            : std::ceil(static_cast<double>(cell));
  if (samples < 1) return;
  const double last_position = static_cast<double>(size);
  std::vector<double> sums;
  for (int p = 0; p < side; ++p) {
    const auto position = [&](double k) { return start + (p + (k + 0.5) / samples) * cell; };
    const auto counts = [&](double at) { return at >= -1.0 && at <= last_position; };
    // The samples that can lie within [-1, size], one more on both sides.
    double k_first = 0, k_last = samples - 1;
    if (cell != 0) {
      const double to_low = ((-1.0 - start) / cell - p) * samples - 0.5;
      const double to_high = ((last_position - start) / cell - p) * samples - 0.5;
      k_first = std::max(k_first, std::floor(std::min(to_low, to_high)) - 1);
      k_last = std::min(k_last, std::ceil(std::max(to_low, to_high)) + 1);
    }
    while (k_first <= k_last && !counts(position(k_first))) ++k_first;
    while (k_first <= k_last && !counts(position(k_last))) --k_last;
    const size_t at = static_cast<size_t>(p);
    begin_[at + 1] = begin_[at];
    if (k_first > k_last) continue;
    const Taps one(position(k_first), size), other(position(k_last), size);
    const int64_t first = std::min(one.first, other.first);
    const int64_t last = std::max(one.second, other.second);
    sums.assign(static_cast<size_t>(last - first + 1), 0.0);
    for (double k = k_first; k <= k_last; ++k) {
      const Taps taps(position(k), size);
      sums[static_cast<size_t>(taps.first - first)] += 1.0 - taps.weight;
      sums[static_cast<size_t>(taps.second - first)] += taps.weight;
    }
    first_[at] = first;
    begin_[at + 1] += last - first + 1;
    for (const double sum : sums) weights_.push_back(static_cast<float>(sum / samples));
  }
}

void roi_axis_weights(float low, float high, float scale, int side, int sampling_ratio,
                      int64_t size, float* weights) {
  const RoiAxis axis(low, high, scale, side, sampling_ratio, size);
  std::fill_n(weights, side * size, 0.0f);
  for (int p = 0; p < side; ++p) {
    const RoiAxis::Cell cell = axis.cell(p);
    std::copy_n(cell.weights, cell.count, weights + p * size + cell.first);
  }
}

int roi_level(const float* box, float finest_scale, int levels) {
  const float side = std::sqrt((box[2] - box[0]) * (box[3] - box[1]));
  const float level = std::floor(std::log2(side / finest_scale + 1e-6f));
  if (!(level > 0)) return 0;  // the root of a negative area is no number
  return level < static_cast<float>(levels) ? static_cast<int>(level) : levels - 1;
}

}  // namespace vig
