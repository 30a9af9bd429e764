#include "vig/kernels/reference/pointwise.h"

#include "vig/kernels/reference/activations.h"
#include "vig/kernels/reference/norm.h"

namespace vig::reference {
namespace {

double combined(Combine combine, double a, double b) {
  switch (combine) {
    case Combine::kNone:
      return a;
    case Combine::kAdd:
      return a + b;
    case Combine::kMul:
      return a * b;
  }
  return 0.0;
}

// What x is multiplied with before the weight: 1 without a norm.
double norm_scale(const float* x, int64_t width, double eps, const float* weight) {
  return weight == nullptr ? 1.0 : 1.0 / rms_root(x, width, eps);
}

}  // namespace

void pointwise(const PointwiseArgs& args) {
  for (int64_t r = 0; r < args.rows; ++r) {
    for (int64_t c = 0; c < args.channels; ++c) {
      const double a = args.a.data[r * args.a.stride + c];
      const double b = args.b.data == nullptr ? 0.0 : args.b.data[r * args.b.stride + c];
      args.out[r * args.out_stride + c] =
          static_cast<float>(combined(args.kind.combine, apply(args.kind.function, a), b));
    }
  }
}

void gated_mix(const GatedMixArgs& args) {
  const int64_t width = args.channels / args.heads;
  for (int64_t r = 0; r < args.rows; ++r) {
    for (int64_t h = 0; h < args.heads; ++h) {
      const float* gate = args.gate.data + r * args.gate.stride + h * width;
      const float* o = args.o.data + r * args.o.stride + h * width;
      const float* local = args.local.data + r * args.local.stride + h * width;
      const double o_scale = norm_scale(o, width, args.eps, args.o_weight);
      const double local_scale = norm_scale(local, width, args.eps, args.local_weight);
      for (int64_t c = 0; c < width; ++c) {
        const double g = sigmoid(gate[c]);
        const double a = o[c] * o_scale * (args.o_weight == nullptr ? 1.0 : args.o_weight[c]);
        const double b =
            local[c] * local_scale * (args.local_weight == nullptr ? 1.0 : args.local_weight[c]);
        const double y = g * a + (1.0 - g) * b;
        args.out[r * args.out_stride + h * width + c] = static_cast<float>(args.silu ? silu(y) : y);
      }
    }
  }
}

}  // namespace vig::reference
