#include "vig/kernels/reference/gemm.h"

#include "vig/kernels/reference/activations.h"

namespace vig::reference {

void gemm(const float* weight, const float* bias, const GemmArgs& args) {
  const PackedMatrix& w = args.weight;
  const int64_t half = w.n / 2;
  for (int64_t r = 0; r < args.rows; ++r) {
    const auto product = [&](int64_t column) {
      double sum = bias == nullptr ? 0.0 : bias[column];
      for (int64_t i = 0; i < w.k; ++i) {
        sum += static_cast<double>(args.a[r * args.lda + i]) * weight[column * w.k + i];
      }
      return sum;
    };
    for (int64_t j = 0; j < (w.paired ? half : w.n); ++j) {
      double y = product(j);
      if (args.residual != nullptr) y += args.residual[r * args.ldr + j];
      y = apply(args.function, y);
      if (w.paired) y *= product(half + j);
      args.c[r * args.ldc + j] = static_cast<float>(y);
    }
  }
}

}  // namespace vig::reference
