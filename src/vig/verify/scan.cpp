#include "vig/verify/scan.h"

#include <algorithm>
#include <cmath>

#include "vig/base/buffer.h"
#include "vig/kernels/gla.h"
#include "vig/kernels/pointwise.h"

namespace vig {
namespace {

std::vector<float> decays(const float* logits, int64_t count) {
  std::vector<float> alpha(static_cast<size_t>(count));
  PointwiseArgs args;
  args.kind = {Elementwise::kDecay};
  args.a = {logits, count};
  args.out = alpha.data();
  args.out_stride = count;
  args.rows = 1;
  args.channels = count;
  pointwise(args);
  return alpha;
}

}  // namespace

std::vector<float> bidirectional_scan(const ScanInput& input) {
  const int64_t gates = input.batch * input.tokens * input.heads * input.key_dim;
  const std::vector<float> forward = decays(input.gate_forward, gates);
  const std::vector<float> backward = decays(input.gate_backward, gates);
  std::vector<float> o(
      static_cast<size_t>(input.batch * input.tokens * input.heads * input.value_dim));
  // The kernel reads q, k and v from rows of one stride.
  const int64_t key_width = input.heads * input.key_dim;
  const int64_t value_width = input.heads * input.value_dim;
  const int64_t width = 2 * key_width + value_width;
  std::vector<float> qkv(static_cast<size_t>(input.tokens * width));
  Buffer state(gla_state_floats(input.key_dim, input.value_dim) * sizeof(float));
  for (int64_t b = 0; b < input.batch; ++b) {
    for (int64_t t = 0; t < input.tokens; ++t) {
      const int64_t row = b * input.tokens + t;
      float* out = qkv.data() + t * width;
      for (const float* source : {input.q, input.k}) {
        out = std::copy_n(source + row * key_width, key_width, out);
      }
      std::copy_n(input.v + row * value_width, value_width, out);
    }
    for (int64_t h = 0; h < input.heads; ++h) {
      GlaArgs args;
      args.tokens = input.tokens;
      args.key_dim = input.key_dim;
      args.value_dim = input.value_dim;
      args.q = qkv.data() + h * input.key_dim;
      args.k = args.q + key_width;
      args.v = qkv.data() + 2 * key_width + h * input.value_dim;
      args.qkv_stride = width;
      const int64_t gate = b * input.tokens * key_width + h * input.key_dim;
      args.alpha_forward = forward.data() + gate;
      args.alpha_backward = backward.data() + gate;
      args.alpha_stride = key_width;
      args.scale = 0.5f / std::sqrt(static_cast<float>(input.key_dim));
      args.o = o.data() + b * input.tokens * value_width + h * input.value_dim;
      args.o_stride = value_width;
      args.state = state.floats();
      gla(args);
    }
  }
  return o;
}

}  // namespace vig
