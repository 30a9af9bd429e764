#include "vig/kernels/reference/wkv_backward.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "vig/kernels/reference/wkv.h"

namespace vig::reference {

void wkv_backward(const WkvBackwardArgs& args) {
  const WkvArgs& wkv = args.wkv;
  const double tokens = static_cast<double>(wkv.tokens);
  for (int64_t c = 0; c < wkv.channels; ++c) {
    const double w = wkv.decay[c] / tokens, u = wkv.first[c] / tokens;
    std::vector<double> dk(static_cast<size_t>(wkv.tokens), 0.0), dv = dk;
    double dw = 0.0, du = 0.0;
    for (int64_t t = 0; t < wkv.tokens; ++t) {
      // f(i, logarithm of the term with its key, term).
      double largest = -INFINITY;
      const auto for_each_term = [&](const auto& f) {
        for (int64_t i = 0; i < wkv.tokens; ++i) {
          const WkvWeight weight = wkv_weight(t, i, wkv.tokens, w, u, wkv.released);
          for (int n = 0; n < weight.count; ++n) {
            const WkvWeight::Term& term = weight.terms[n];
            f(i, term.log + wkv.k[i * wkv.k_stride + c], term);
          }
        }
      };
      for_each_term(
          [&](int64_t, double log, const WkvWeight::Term&) { largest = std::max(largest, log); });
      double upper = 0.0, lower = 0.0;
      for_each_term([&](int64_t i, double log, const WkvWeight::Term& term) {
        upper += term.sign * std::exp(log - largest) * wkv.v[i * wkv.v_stride + c];
        lower += term.sign * std::exp(log - largest);
      });
      const double y = upper / lower, g = args.dy[t * args.dy_stride + c] / lower;
      for_each_term([&](int64_t i, double log, const WkvWeight::Term& term) {
        const double weight = g * term.sign * std::exp(log - largest);
        const double moved = weight * (wkv.v[i * wkv.v_stride + c] - y);
        dv[static_cast<size_t>(i)] += weight;
        dk[static_cast<size_t>(i)] += moved;
        dw += moved * term.slope;
        du += moved * term.u_slope;
      });
    }
    for (int64_t t = 0; t < wkv.tokens; ++t) {
      args.dk[t * args.dk_stride + c] = static_cast<float>(dk[static_cast<size_t>(t)]);
      args.dv[t * args.dv_stride + c] = static_cast<float>(dv[static_cast<size_t>(t)]);
    }
    args.ddecay[c] = static_cast<float>(args.ddecay[c] + dw / tokens);
    args.dfirst[c] = static_cast<float>(args.dfirst[c] + du / tokens);
  }
}

}  // namespace vig::reference
