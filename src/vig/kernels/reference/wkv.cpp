#include "vig/kernels/reference/wkv.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "vig/kernels/reference/activations.h"

namespace vig::reference {

WkvWeight wkv_weight(int64_t t, int64_t i, int64_t tokens, double w, double u, bool released) {
  WkvWeight weight;
  const auto add = [&](double distance, double sign) {
    weight.terms[weight.count++] = {distance * w, sign, distance, 0.0};
  };
  const double apart = static_cast<double>(std::llabs(t - i));
  const int64_t chunk = (tokens + 31) / 32, begin = t / chunk * chunk;
  if (i == t) {
    weight.terms[weight.count++] = {u, 1.0, 0.0, 1.0};
  } else {
    add(-(released && (i < begin || i > t) ? apart : apart - 1.0), 1.0);
  }
  if (released && begin < i && i <= t) {
    add(apart, 1.0);
    add(apart + 1.0, -1.0);
  }
  return weight;
}

void wkv(const WkvArgs& args) {
  const double tokens = static_cast<double>(args.tokens);
  for (int64_t c = 0; c < args.channels; ++c) {
    std::vector<double> y(static_cast<size_t>(args.tokens));
    const double w = args.decay[c] / tokens, u = args.first[c] / tokens;
    for (int64_t t = 0; t < args.tokens; ++t) {
      double largest = -INFINITY;
      const auto for_each_term = [&](const auto& f) {
        for (int64_t i = 0; i < args.tokens; ++i) {
          const WkvWeight weight = wkv_weight(t, i, args.tokens, w, u, args.released);
          for (int n = 0; n < weight.count; ++n) {
            f(weight.terms[n].log + args.k[i * args.k_stride + c], weight.terms[n].sign,
              args.v[i * args.v_stride + c]);
          }
        }
      };
      for_each_term([&](double log, double, double) { largest = std::max(largest, log); });
      double upper = 0.0, lower = 0.0;
      for_each_term([&](double log, double sign, double v) {
        upper += sign * std::exp(log - largest) * v;
        lower += sign * std::exp(log - largest);
      });
      y[static_cast<size_t>(t)] = upper / lower;
      if (args.gate != nullptr) {
        y[static_cast<size_t>(t)] *= sigmoid(args.gate[t * args.gate_stride + c]);
      }
    }
    for (int64_t t = 0; t < args.tokens; ++t) {
      args.y[t * args.y_stride + c] = static_cast<float>(y[static_cast<size_t>(t)]);
    }
  }
}

}  // namespace vig::reference
