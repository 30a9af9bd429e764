#include "vig/kernels/reference/rotary.h"

namespace vig::reference {

void rotary(const RotaryArgs& args) {
  for (int64_t r = 0; r < args.rows; ++r) {
    for (int64_t i = 0; i < args.channels; i += 2) {
      const float* x = args.in + r * args.in_stride + i;
      const float *c = args.cos + r * args.channels + i, *s = args.sin + r * args.channels + i;
      const double even = x[0], odd = x[1];
      float* const y = args.out + r * args.out_stride + i;
      // The signs are in the table already.
      y[0] = static_cast<float>(even * c[0] + odd * s[0]);
      y[1] = static_cast<float>(odd * c[1] + even * s[1]);
    }
  }
}

}  // namespace vig::reference
