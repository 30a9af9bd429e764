#include "vig/torch/plain_scan.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <utility>
#include <vector>

namespace vig::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr int64_t kChunk = 16;

at::Tensor scan_in_chunks(at::Tensor q, at::Tensor k, at::Tensor v, at::Tensor log_alpha) {
  const int64_t b = q.size(0), h = q.size(1), tokens = q.size(2), key = q.size(3),
                value = v.size(3);
  const int64_t chunks = (tokens + kChunk - 1) / kChunk;
  const int64_t missing = chunks * kChunk - tokens;  // tokens that neither decay nor feed
  const auto cut = [&](at::Tensor& x) {
    x = at::constant_pad_nd(x, {0, 0, 0, missing}).view({b, h, chunks, kChunk, x.size(3)});
  };
  cut(q);
  cut(k);
  cut(v);
  cut(log_alpha);
  const at::Tensor sum = log_alpha.cumsum(3);  // of the gates up to and including a token
  // decay[r, s] = the product of the gates after s up to r; exponents are never above zero.
  const at::Tensor pairs = (sum.unsqueeze(4) - sum.unsqueeze(3))
                               .masked_fill(at::ones({kChunk, kChunk}, q.options())
                                                .triu(1)
                                                .to(at::kBool)
                                                .view({1, 1, 1, kChunk, kChunk, 1}),
                                            -INFINITY)
                               .exp();
  const at::Tensor scores = (q.unsqueeze(4) * k.unsqueeze(3) * pairs).sum(5);
  const at::Tensor inside = at::matmul(scores, v);
  const at::Tensor total = sum.select(3, kChunk - 1);  // [B, H, chunks, K]
  const at::Tensor query = q * sum.exp();
  const at::Tensor fed = at::matmul((k * (total.unsqueeze(3) - sum).exp()).transpose(3, 4), v);
  const at::Tensor left = total.exp();
  at::Tensor state = at::zeros({b, h, key, value}, q.options());
  std::vector<at::Tensor> outs;
  for (int64_t c = 0; c < chunks; ++c) {
    outs.push_back(inside.select(2, c) + at::matmul(query.select(2, c), state));
    state = left.select(2, c).unsqueeze(3) * state + fed.select(2, c);
  }
  return at::cat(outs, 2).narrow(2, 0, tokens);
}

class Recomputed : public Function<Recomputed> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const at::Tensor& log_alpha) {
    context->save_for_backward({q, k, v, log_alpha});
    return scan_in_chunks(q, k, v, log_alpha);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list inputs;
    for (const at::Tensor& kept : context->get_saved_variables()) {
      inputs.push_back(kept.detach().requires_grad_(true));
    }
    const at::AutoGradMode record(true);
    const at::Tensor out = scan_in_chunks(inputs[0], inputs[1], inputs[2], inputs[3]);
    return torch::autograd::grad({out}, inputs, {gradients[0]});
  }
};

}  // namespace

at::Tensor plain_scan(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const at::Tensor& log_alpha) {
  return Recomputed::apply(q, k, v, log_alpha);
}

}  // namespace vig::train
