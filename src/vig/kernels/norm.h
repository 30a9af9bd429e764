// Norms over the channels of each row. Rows are `stride` floats apart; out may be in.
#pragma once

#include <cstdint>

namespace vig {

struct NormArgs {
  const float* in = nullptr;
  int64_t in_stride = 0;
  float* out = nullptr;
  int64_t out_stride = 0;
  int64_t rows = 0;
  int64_t channels = 0;
  float eps = 0.0f;
  const float* weight = nullptr;
  const float* bias = nullptr;  // layer_norm only
  int64_t groups = 1;  // rms_norm only: parts of a row normalised apart, one weight for all
};

// (x - mean) / sqrt(var + eps) * weight + bias, biased variance.
void layer_norm(const NormArgs& args);
// x / sqrt(mean(x^2) + eps) * weight, over each group.
void rms_norm(const NormArgs& args);

}  // namespace vig
