#include "vig/kernels/reference/gemm_int8.h"

#include <cmath>
#include <limits>
#include <vector>

#include "vig/kernels/reference/activations.h"

namespace vig::reference {

float quantize(const float* x, int64_t count, int most_code, int* codes) {
  float most = 0.0f;
  bool finite = true;
  for (int64_t i = 0; i < count; ++i) {
    finite = finite && std::isfinite(x[i]);
    most = std::fmax(most, std::fabs(x[i]));
    codes[i] = 0;
  }
  if (!finite) return std::numeric_limits<float>::quiet_NaN();
  if (most < 0x1p-100f) return 0.0f;
  const float inverse = static_cast<float>(most_code) / most;
  for (int64_t i = 0; i < count; ++i) {
    codes[i] = static_cast<int>(std::nearbyint(x[i] * inverse));
  }
  return most / static_cast<float>(most_code);
}

void gemm_int8(const float* a, int64_t lda, const float* weight, const float* bias,
               const Int8GemmArgs& args) {
  const Int8Matrix& w = args.weight;
  const size_t k = static_cast<size_t>(w.k);
  const int64_t half = w.n / 2;
  std::vector<int> columns(static_cast<size_t>(w.n) * k), row(k);
  std::vector<double> scales;
  for (int64_t j = 0; j < w.n; ++j) {
    scales.push_back(
        quantize(weight + j * w.k, w.k, kMostWeight, columns.data() + static_cast<size_t>(j) * k));
  }
  for (int64_t r = 0; r < args.rows; ++r) {
    const double scale = quantize(a + r * lda, w.k, kMostCode, row.data());
    const auto product = [&](int64_t column) {
      int64_t sum = 0;
      for (size_t i = 0; i < k; ++i) sum += row[i] * columns[static_cast<size_t>(column) * k + i];
      return static_cast<double>(sum) * scale * scales[static_cast<size_t>(column)] +
             (bias == nullptr ? 0.0 : bias[column]);
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
