// Elementwise work on rows of channels. Rows are `stride` floats apart; out may be an operand.
#pragma once

#include <cstdint>

#include "vig/base/elementwise.h"

namespace vig {

enum class Combine { kNone, kAdd, kMul };

// f(a), f(a) + b or f(a) * b.
struct Pointwise {
  Elementwise function = Elementwise::kIdentity;
  Combine combine = Combine::kNone;
  bool operator==(const Pointwise&) const = default;
};
inline constexpr Pointwise kSum{Elementwise::kIdentity, Combine::kAdd};
inline constexpr Pointwise kProduct{Elementwise::kIdentity, Combine::kMul};
inline constexpr Pointwise kSwiGlu{Elementwise::kSilu, Combine::kMul};

struct Rows {
  const float* data = nullptr;
  int64_t stride = 0;  // 0: one row for all
};

struct PointwiseArgs {
  Pointwise kind;
  Rows a;
  Rows b;  // unless combine is kNone
  float* out = nullptr;
  int64_t out_stride = 0;
  int64_t rows = 0;
  int64_t channels = 0;
};

void pointwise(const PointwiseArgs& args);

// The end of ViG's mixer (paper, 2-D gating locality injection): per head of a row
//   y = G * norm(o) + (1 - G) * norm(local),  G = sigmoid(gate)
// with RMS norms that share one weight vector between heads; then SiLU if asked for.
struct GatedMixArgs {
  Rows gate;
  Rows o;
  Rows local;
  const float* o_weight = nullptr;      // [channels / heads]; null: o is not normalised
  const float* local_weight = nullptr;  // the same for local
  float eps = 0.0f;
  int64_t heads = 1;
  bool silu = false;
  float* out = nullptr;
  int64_t out_stride = 0;
  int64_t rows = 0;
  int64_t channels = 0;
};

void gated_mix(const GatedMixArgs& args);

}  // namespace vig
