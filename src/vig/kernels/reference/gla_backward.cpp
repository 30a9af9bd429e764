#include "vig/kernels/reference/gla_backward.h"

#include <vector>

namespace vig::reference {
namespace {

using Doubles = std::vector<double>;

Doubles zeros(int64_t rows, int64_t columns) {
  return Doubles(static_cast<size_t>(rows * columns), 0.0);
}

// dq, dk [T, K] and dv [T, V].
struct Sums {
  Doubles dq, dk, dv;
};

// Adds one direction to `sums`; the result is its dlog_alpha [T, K].
Doubles add_direction(const GlaBackwardArgs& args, const float* gates, bool backward, Sums& sums) {
  const int64_t size = args.key_dim * args.value_dim;
  const auto token = [&](int64_t n) { return backward ? args.tokens - 1 - n : n; };
  // S_n of every token in the order of the sweep, from S_{-1} = 0 on.
  Doubles states = zeros(args.tokens + 1, size);
  for (int64_t n = 0; n < args.tokens; ++n) {
    const float* k = args.k + token(n) * args.qkv_stride;
    const float* v = args.v + token(n) * args.qkv_stride;
    const float* alpha = gates + token(n) * args.alpha_stride;
    const double* before = states.data() + n * size;
    double* after = states.data() + (n + 1) * size;
    for (int64_t i = 0; i < args.key_dim; ++i) {
      for (int64_t j = 0; j < args.value_dim; ++j) {
        const int64_t e = i * args.value_dim + j;
        after[e] = alpha[i] * before[e] + static_cast<double>(k[i]) * v[j];
      }
    }
  }
  Doubles dlog_alpha = zeros(args.tokens, args.key_dim);
  Doubles gradient = zeros(1, size);  // of S_n from the tokens after it, then with its own
  for (int64_t n = args.tokens - 1; n >= 0; --n) {
    const int64_t t = token(n);
    const float* q = args.q + t * args.qkv_stride;
    const float* k = args.k + t * args.qkv_stride;
    const float* v = args.v + t * args.qkv_stride;
    const float* grad_o = args.grad_o + t * args.grad_o_stride;
    const float* alpha = gates + t * args.alpha_stride;
    for (int64_t i = 0; i < args.key_dim; ++i) {
      const size_t ti = static_cast<size_t>(t * args.key_dim + i);
      for (int64_t j = 0; j < args.value_dim; ++j) {
        const int64_t e = i * args.value_dim + j;
        const double scaled = static_cast<double>(args.scale) * grad_o[j];
        double& d = gradient[static_cast<size_t>(e)];
        d += q[i] * scaled;
        sums.dq[ti] += states[static_cast<size_t>((n + 1) * size + e)] * scaled;
        sums.dk[ti] += d * v[j];
        sums.dv[static_cast<size_t>(t * args.value_dim + j)] += k[i] * d;
        d *= alpha[i];
        dlog_alpha[ti] += states[static_cast<size_t>(n * size + e)] * d;
      }
    }
  }
  return dlog_alpha;
}

void store(const Doubles& from, int64_t rows, int64_t columns, float* to, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      to[r * stride + c] = static_cast<float>(from[static_cast<size_t>(r * columns + c)]);
    }
  }
}

}  // namespace

void gla_backward(const GlaBackwardArgs& args) {
  const int64_t tokens = args.tokens, key_dim = args.key_dim, value_dim = args.value_dim;
  Sums sums{zeros(tokens, key_dim), zeros(tokens, key_dim), zeros(tokens, value_dim)};
  Doubles forward = zeros(tokens, key_dim);
  if (args.alpha_forward != nullptr) {
    forward = add_direction(args, args.alpha_forward, false, sums);
    store(forward, tokens, key_dim, args.dlog_alpha_forward, args.dlog_alpha_stride);
  }
  if (args.alpha_backward != nullptr) {
    Doubles backward = add_direction(args, args.alpha_backward, true, sums);
    if (args.alpha_forward != nullptr && args.dlog_alpha_forward == args.dlog_alpha_backward) {
      for (size_t i = 0; i < backward.size(); ++i) backward[i] += forward[i];
    }
    store(backward, tokens, key_dim, args.dlog_alpha_backward, args.dlog_alpha_stride);
  }
  store(sums.dq, tokens, key_dim, args.dq, args.dqkv_stride);
  store(sums.dk, tokens, key_dim, args.dk, args.dqkv_stride);
  store(sums.dv, tokens, value_dim, args.dv, args.dqkv_stride);
}

}  // namespace vig::reference
