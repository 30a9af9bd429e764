#include "vig/kernels/reference/conv1d.h"

#include "vig/kernels/reference/activations.h"

namespace vig::reference {

void conv1d(const Conv1dArgs& args) {
  for (int64_t n = args.first; n < args.last; ++n) {
    float* out = args.out.row(n);
    if (out == nullptr) continue;
    for (int64_t e = 0; e < args.channels; ++e) {
      double sum = args.bias == nullptr ? 0.0 : args.bias[e];
      for (int64_t j = 0; j < args.width; ++j) {
        const int64_t from = n - (args.width - 1) + j;
        const float* in = from < 0 ? nullptr : args.in.row(from);
        if (in != nullptr) sum += static_cast<double>(args.taps[j * args.taps_stride + e]) * in[e];
      }
      out[e] = static_cast<float>(apply(args.function, sum));
    }
  }
}

}  // namespace vig::reference
