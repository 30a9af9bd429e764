#include "vig/kernels/reference/gla.h"

#include <vector>

namespace vig::reference {
namespace {

// Adds q_t S_t of one direction to o [T, V].
void add_direction(const GlaArgs& args, const float* gates, bool backward, double* o) {
  const int64_t v_stride = args.v_stride != 0 ? args.v_stride : args.qkv_stride;
  std::vector<double> state(static_cast<size_t>(args.key_dim * args.value_dim), 0.0);
  for (int64_t n = 0; n < args.tokens; ++n) {
    const int64_t t = backward ? args.tokens - 1 - n : n;
    const float* q = args.q + t * args.qkv_stride;
    const float* k = args.k + t * args.qkv_stride;
    const float* v = args.v + t * v_stride;
    const int64_t before = n == 0 ? t : backward ? t + 1 : t - 1;
    const float* alpha = gates + (args.gates_after ? before : t) * args.alpha_stride;
    for (int64_t i = 0; i < args.key_dim; ++i) {
      for (int64_t j = 0; j < args.value_dim; ++j) {
        double& s = state[static_cast<size_t>(i * args.value_dim + j)];
        s = alpha[i] * s + static_cast<double>(k[i]) * v[j];
        o[t * args.value_dim + j] += q[i] * s;
      }
    }
  }
}

}  // namespace

void gla(const GlaArgs& args) {
  std::vector<double> o(static_cast<size_t>(args.tokens * args.value_dim), 0.0);
  if (args.alpha_forward != nullptr) add_direction(args, args.alpha_forward, false, o.data());
  if (args.alpha_backward != nullptr) add_direction(args, args.alpha_backward, true, o.data());
  for (int64_t t = 0; t < args.tokens; ++t) {
    for (int64_t j = 0; j < args.value_dim; ++j) {
      args.o[t * args.o_stride + j] =
          static_cast<float>(args.scale * o[static_cast<size_t>(t * args.value_dim + j)]);
    }
  }
}

}  // namespace vig::reference
