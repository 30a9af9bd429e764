#include "vig/kernels/reference/pool.h"

namespace vig::reference {

void mean_rows(const float* rows, int64_t stride, int64_t count, int64_t channels, float* mean) {
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0.0;
    for (int64_t r = 0; r < count; ++r) sum += rows[r * stride + c];
    mean[c] = static_cast<float>(sum / static_cast<double>(count));
  }
}

}  // namespace vig::reference
