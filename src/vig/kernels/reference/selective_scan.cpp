#include "vig/kernels/reference/selective_scan.h"

#include <cmath>
#include <vector>

namespace vig::reference {

void selective_scan(const SelectiveScanArgs& args) {
  std::vector<double> state(static_cast<size_t>(args.channels * args.states), 0.0);
  const auto at = [](const float* row, int64_t i) { return row == nullptr ? 0.0 : row[i]; };
  for (int64_t n = 0; n < args.tokens; ++n) {
    const float* b_added = args.b_added.data == nullptr ? nullptr : args.b_added.row(n);
    for (int64_t e = 0; e < args.channels; ++e) {
      const double u = at(args.u.row(n), e);
      const double dt = softplus(at(args.raw.row(n), e) + at(args.bias, e));
      double y = at(args.d, e) * u;
      for (int64_t i = 0; i < args.states; ++i) {
        const double b = at(args.b.row(n), i) + at(b_added, i);
        double& h = state[static_cast<size_t>(e * args.states + i)];
        h = std::exp2(dt * args.rates[i * args.rates_stride + e]) * h + dt * u * b;
        y += at(args.c.row(n), i) * h;
      }
      float* out = args.y.row(n);
      if (out == nullptr) continue;
      if (args.add) y += out[e];
      y *= args.scale;
      if (args.gate.data != nullptr) y *= silu(at(args.gate.row(n), e));
      out[e] = static_cast<float>(y);
    }
  }
}

}  // namespace vig::reference
