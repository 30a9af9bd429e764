#include "vig/kernels/reference/long_conv.h"

#include <vector>

#include "vig/kernels/reference/activations.h"

namespace vig::reference {
namespace {

// The row of the tap between token t and token s; -1 where there is none.
int64_t row_of(const LongTaps& taps, int64_t t, int64_t s) {
  const int64_t row = t - s + taps.future;
  return row >= 0 && row < taps.past + taps.future ? row : -1;
}

}  // namespace

void long_conv(const LongConvArgs& args, const LongTaps& taps) {
  for (int64_t t = 0; t < args.tokens; ++t) {
    for (int64_t e = 0; e < args.channels; ++e) {
      double sum = 0.0;
      for (int64_t s = 0; s < args.tokens; ++s) {
        const int64_t row = row_of(taps, t, s);
        if (row < 0) continue;
        sum +=
            static_cast<double>(taps.rows[row * taps.stride + e]) * args.in[s * args.in_stride + e];
      }
      args.out[t * args.out_stride + e] = static_cast<float>(apply(args.function, sum));
    }
  }
}

void long_conv_backward(const LongConvArgs& args, const LongTaps& taps,
                        const LongConvGradients& grads) {
  const auto rows = static_cast<size_t>(taps.past + taps.future);
  for (int64_t e = 0; e < args.channels; ++e) {
    std::vector<double> dtaps(rows, 0.0);
    for (int64_t s = 0; s < args.tokens; ++s) {
      double dx = 0.0;
      for (int64_t t = 0; t < args.tokens; ++t) {
        const int64_t row = row_of(taps, t, s);
        if (row < 0) continue;
        const double dy = grads.dy[t * grads.dy_stride + e];
        dx += dy * taps.rows[row * taps.stride + e];
        dtaps[static_cast<size_t>(row)] += dy * args.in[s * args.in_stride + e];
      }
      grads.dx[s * grads.dx_stride + e] += static_cast<float>(dx);
    }
    for (size_t row = 0; row < rows; ++row) {
      grads.dtaps[static_cast<int64_t>(row) * taps.stride + e] += static_cast<float>(dtaps[row]);
    }
  }
}

}  // namespace vig::reference
