#include "vig/graph/init.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vig {
namespace {

// Box-Muller: two independent standard normals from one draw of 64 bits (24 + 24 of them used).
void normal_pair(uint64_t bits, float& first, float& second) {
  const float radius = std::sqrt(-2.0f * std::log(unit_open_below(bits)));
  const float angle = 2.0f * std::numbers::pi_v<float> * unit_open_above(bits << 24);
  first = radius * std::cos(angle);
  second = radius * std::sin(angle);
}

}  // namespace

void Init::fill(const FreshParam& param) const {
  if (rule == nullptr) return fill_constant(param, 0.0f, 0.0f);
  rule(param, a, b);
}

void fill_constant(const FreshParam& param, float value, float) {
  std::fill(param.values.begin(), param.values.end(), value);
}

void fill_normal(const FreshParam& param, float deviation, float) {
  for (size_t i = 0; i < param.values.size(); i += 2) {
    float first, second;
    normal_pair(param.random.bits_at(i), first, second);
    param.values[i] = first * deviation;
    if (i + 1 < param.values.size()) param.values[i + 1] = second * deviation;
  }
}

// Redraws what falls outside, from a stream of its own; after many misses (a deviation far above
// the bound) it clamps, so that the loop always ends.
void fill_truncated_normal(const FreshParam& param, float deviation, float bound) {
  fill_normal(param, deviation, 0.0f);
  for (size_t i = 0; i < param.values.size(); ++i) {
    float& value = param.values[i];
    if (std::abs(value) <= bound) continue;
    const RandomStream redraw = param.random.at(i);
    for (uint64_t attempt = 0; std::abs(value) > bound && attempt < 64; ++attempt) {
      float unused;
      normal_pair(redraw.bits_at(attempt), value, unused);
      value *= deviation;
    }
    value = std::clamp(value, -bound, bound);
  }
}

void fill_uniform(const FreshParam& param, float bound, float) {
  for (size_t i = 0; i < param.values.size(); ++i) {
    const float unit = unit_open_above(param.random.bits_at(i));
    param.values[i] = (2.0f * unit - 1.0f) * bound;
  }
}

Init fan_in_uniform(int64_t fan_in) {
  return uniform_init(1.0f / std::sqrt(static_cast<float>(fan_in)));
}

Init kaiming_normal(int64_t fan) { return normal_init(std::sqrt(2.0f / static_cast<float>(fan))); }

Init xavier_uniform(int64_t fan_in, int64_t fan_out, float gain) {
  return uniform_init(gain * std::sqrt(6.0f / static_cast<float>(fan_in + fan_out)));
}

}  // namespace vig
