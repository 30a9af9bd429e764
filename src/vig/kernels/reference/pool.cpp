#include "vig/kernels/reference/pool.h"

#include <cmath>
#include <limits>

namespace vig::reference {

void mean_rows(const float* rows, int64_t stride, int64_t count, int64_t channels, float* mean) {
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0.0;
    for (int64_t r = 0; r < count; ++r) sum += rows[r * stride + c];
    mean[c] = static_cast<float>(sum / static_cast<double>(count));
  }
}

void max_pool(const MaxPoolArgs& args) {
  const ConvGrid& g = args.grid;
  const Windows& w = args.windows;
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const int64_t image = row / (w.height * w.width);
    for (int64_t c = 0; c < g.channels; ++c) {
      float largest = -std::numeric_limits<float>::infinity();
      for (int64_t tap = 0; tap < w.kernel * w.kernel; ++tap) {
        const int64_t y = row / w.width % w.height * w.stride - w.top + tap / w.kernel;
        const int64_t x = row % w.width * w.stride - w.left + tap % w.kernel;
        if (y < 0 || y >= g.height || x < 0 || x >= g.width) continue;
        const float v = args.in[((image * g.height + y) * g.width + x) * g.channels + c];
        if (v > largest || std::isnan(v)) largest = v;
      }
      args.out[(row - args.first_row) * args.out_stride + c] = largest;
    }
  }
}

}  // namespace vig::reference
