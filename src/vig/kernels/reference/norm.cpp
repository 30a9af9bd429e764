#include "vig/kernels/reference/norm.h"

#include <cmath>

namespace vig::reference {

void layer_norm(const NormArgs& args) {
  const double n = static_cast<double>(args.channels);
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* in = args.in + r * args.in_stride;
    float* out = args.out + r * args.out_stride;
    double mean = 0.0, variance = 0.0;
    for (int64_t c = 0; c < args.channels; ++c) mean += in[c] / n;
    for (int64_t c = 0; c < args.channels; ++c) variance += (in[c] - mean) * (in[c] - mean) / n;
    for (int64_t c = 0; c < args.channels; ++c) {
      out[c] = static_cast<float>((in[c] - mean) / std::sqrt(variance + args.eps) * args.weight[c] +
                                  args.bias[c]);
    }
  }
}

void rms_norm(const NormArgs& args) {
  const int64_t width = args.channels / args.groups;
  for (int64_t r = 0; r < args.rows; ++r) {
    for (int64_t g = 0; g < args.groups; ++g) {
      const float* in = args.in + r * args.in_stride + g * width;
      float* out = args.out + r * args.out_stride + g * width;
      const double root = rms_root(in, width, args.eps);
      for (int64_t c = 0; c < width; ++c) {
        out[c] = static_cast<float>(in[c] / root * args.weight[c]);
      }
    }
  }
}

double rms_root(const float* x, int64_t width, double eps) {
  double square = 0.0;
  for (int64_t c = 0; c < width; ++c) square += static_cast<double>(x[c]) * x[c];
  return std::sqrt(square / static_cast<double>(width) + eps);
}

}  // namespace vig::reference
