#include "vig/kernels/reference/gemm_backward.h"

namespace vig::reference {

void gemm_backward(const GemmBackwardArgs& args) {
  for (int64_t i = 0; i < args.n; ++i) {
    for (int64_t j = 0; j < args.k; ++j) {
      float& dw = args.dw[i * args.ldw + j];
      double sum = args.add ? dw : 0.0;
      for (int64_t r = 0; r < args.rows; ++r) {
        sum += static_cast<double>(args.dy[r * args.ldy + i]) * args.x[r * args.ldx + j];
      }
      dw = static_cast<float>(sum);
    }
  }
}

}  // namespace vig::reference
