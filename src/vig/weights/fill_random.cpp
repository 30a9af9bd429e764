#include <algorithm>
#include <cmath>
#include <numbers>

#include "vig/base/random.h"
#include "vig/weights/load.h"

namespace vig {
namespace {

// Drawing by counter instead of by state makes each number a function of its place alone.
struct Stream {
  uint64_t key;

  uint64_t bits(uint64_t counter) const { return mix_bits(key + counter * 0x9e3779b97f4a7c15u); }
};

// Box-Muller: two independent standard normals from one draw of 64 bits (24 + 24 of them used).
void normal_pair(uint64_t bits, float& first, float& second) {
  const float radius = std::sqrt(-2.0f * std::log(unit_open_below(bits)));
  const float angle = 2.0f * std::numbers::pi_v<float> * unit_open_above(bits << 24);
  first = radius * std::cos(angle);
  second = radius * std::sin(angle);
}

void fill_normal(Stream stream, float deviation, int64_t count, float* out) {
  for (int64_t i = 0; i < count; i += 2) {
    float first, second;
    normal_pair(stream.bits(static_cast<uint64_t>(i)), first, second);
    out[i] = first * deviation;
    if (i + 1 < count) out[i + 1] = second * deviation;
  }
}

// Redraws what falls outside, from a stream of its own; after many misses (a deviation far above
// the bound) it clamps, so that the loop ends whatever it is given.
void cut(Stream stream, float deviation, float bound, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) {
    if (std::abs(out[i]) <= bound) continue;
    const Stream redraw{mix_bits(stream.key ^ static_cast<uint64_t>(i))};
    for (uint64_t attempt = 0; std::abs(out[i]) > bound && attempt < 64; ++attempt) {
      float unused;
      normal_pair(redraw.bits(attempt), out[i], unused);
      out[i] *= deviation;
    }
    out[i] = std::clamp(out[i], -bound, bound);
  }
}

}  // namespace

void fill_random(const ParamSpec& spec, uint64_t seed, float* out) {
  const int64_t count = spec.shape.elements();
  const Stream stream{mix_bits(mix_bits(seed) ^ hash_name(spec.name))};
  switch (spec.init.kind) {
    case Init::Kind::kZeros:
      std::fill_n(out, count, 0.0f);
      return;
    case Init::Kind::kOnes:
      std::fill_n(out, count, 1.0f);
      return;
    case Init::Kind::kConstant:
      std::fill_n(out, count, spec.init.scale);
      return;
    case Init::Kind::kNormal:
      fill_normal(stream, spec.init.scale, count, out);
      return;
    case Init::Kind::kTruncatedNormal:
      fill_normal(stream, spec.init.scale, count, out);
      cut(stream, spec.init.scale, 2.0f, count, out);
      return;
    case Init::Kind::kUniform:
      for (int64_t i = 0; i < count; ++i) {
        const float unit = unit_open_above(stream.bits(static_cast<uint64_t>(i)));
        out[i] = (2.0f * unit - 1.0f) * spec.init.scale;
      }
      return;
  }
}

}  // namespace vig
