// Gradients of the elementwise work in pointwise.h, from its operands and the gradient dy of its
// result. Sums over rows are added to what their buffer holds, so that a caller may split the rows
// into parts with a buffer each; everything else is overwritten.
#pragma once

#include <cstdint>

#include "vig/kernels/pointwise.h"

namespace vig {

// da and db may be operands, or dy, of the same stride.
struct PointwiseBackwardArgs {
  Pointwise kind;
  Rows a;
  Rows b;  // unless kind.combine is kNone
  Rows dy;
  float* da = nullptr;
  int64_t da_stride = 0;
  float* db = nullptr;  // unless kind.combine is kNone
  int64_t db_stride = 0;
  int64_t rows = 0;
  int64_t channels = 0;
};

// da = dy * d out / d a, db = dy * d out / d b. Both operands may lie in one row.
// The gate kDecay needs its logit alone: dz = dy * alpha * sigmoid(-z) / 16, never NaN.
void pointwise_backward(const PointwiseBackwardArgs& args);

// Of y = x * weight, one weight per channel.
struct ScaleBackwardArgs {
  Rows x;
  Rows dy;
  const float* weight = nullptr;
  float* dx = nullptr;  // dy * weight; may be x or dy
  int64_t dx_stride = 0;
  float* dweight = nullptr;  // [channels], added to: sum over rows of dy * x
  int64_t rows = 0;
  int64_t channels = 0;
};

void scale_backward(const ScaleBackwardArgs& args);

// sums[c] += sum of rows[r * stride + c]: the gradient of a bias. In blocks, so that long sums stay
// exact.
void add_column_sums(const float* rows, int64_t stride, int64_t count, int64_t channels,
                     float* sums);

// Of gated_mix. With A = norm(o), B = norm(local), G = sigmoid(gate), y = G A + (1 - G) B, and dy
// already multiplied with silu'(y) if there was a SiLU:
//   dA = dy G,  dB = dy (1 - G),  dgate = dy (A - B) G (1 - G),
// and the gradients of o and local follow from dA and dB through the norms as in norm_backward.h;
// without a norm they are dA and dB.
struct GatedMixBackwardArgs {
  Rows gate;
  Rows o;
  Rows local;
  const float* o_weight = nullptr;      // as in GatedMixArgs
  const float* local_weight = nullptr;  // as in GatedMixArgs
  float eps = 0.0f;
  int64_t heads = 1;
  bool silu = false;
  Rows dy;
  float* dgate = nullptr;  // the three gradients of rows overlap neither operands nor each other
  int64_t dgate_stride = 0;
  float* d_o = nullptr;
  int64_t d_o_stride = 0;
  float* dlocal = nullptr;
  int64_t dlocal_stride = 0;
  float* do_weight = nullptr;      // [channels / heads], added to; not used without o_weight
  float* dlocal_weight = nullptr;  // the same for local
  int64_t rows = 0;
  int64_t channels = 0;
};

void gated_mix_backward(const GatedMixBackwardArgs& args);

}  // namespace vig
