#include "vig/torch/s4_taps.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "vig/kernels/s4_taps.h"

namespace vig::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Real and imaginary parts of the same shape.
struct Complex {
  at::Tensor re, im;
};
Complex operator*(const Complex& a, const Complex& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
at::Tensor as_tensor(const Complex& a) { return at::complex(a.re, a.im); }

// Of a parameter with a last axis of real and imaginary part.
Complex parts(const at::Tensor& x) { return {x.select(-1, 0), x.select(-1, 1)}; }

at::Tensor constant(const std::vector<double>& values, at::IntArrayRef sizes,
                    const at::Tensor& like) {
  return at::tensor(values, at::kDouble).view(sizes).to(like.device());
}

// The formulas of kernels/s4_taps.h; d channels, n pairs of states, q nodes. inv_dt, a_real,
// a_imag, b, p, c.
at::Tensor make_taps(const variable_list& params, int64_t l_kernel, int64_t length) {
  const at::Tensor c = params[5].to(at::kDouble);  // [rows, d, n, 2]
  const int64_t rows = c.size(0), channels = c.size(1);
  const int64_t systems = params[1].size(0);
  const at::Tensor system =
      at::arange(channels, at::TensorOptions(at::kLong).device(c.device())).remainder(systems);
  // The system of every channel: [d, n], or [d, n, 2].
  const auto of_channels = [&](const at::Tensor& x) {
    return x.to(at::kDouble).index_select(0, system);
  };
  const at::Tensor dt = params[0].to(at::kDouble).exp();  // [d, 1]
  const Complex a = {-dt * of_channels(params[1]).exp(), -dt * of_channels(params[2])};
  const Complex b = parts(of_channels(params[3].squeeze(0)));
  const Complex p = parts(of_channels(params[4].squeeze(0)));

  const S4Nodes nodes = s4_nodes(l_kernel, length);
  const int64_t count = nodes.count();
  const Complex x = {constant(nodes.x_real, {count}, c), constant(nodes.x_imag, {count}, c)};
  const Complex minus = {1.0 - x.re, -x.im}, plus = {0.5 * (1.0 + x.re), 0.5 * x.im};
  const Complex pp = minus * minus, ps = minus * plus, ss = plus * plus;

  // One over the denominator of each pair of states: [d, n, q].
  const at::Tensor decay = (2.0 * a.re).unsqueeze(2);
  const at::Tensor size = (a.re * a.re + a.im * a.im).unsqueeze(2);
  const Complex under = {pp.re - decay * ps.re + size * ss.re,
                         pp.im - decay * ps.im + size * ss.im};
  const at::Tensor over = at::reciprocal(under.re * under.re + under.im * under.im);
  const Complex inverse = {under.re * over, -under.im * over};

  // s(B, C_r), s(P, C_r), s(B, conj P) and s(P, conj P): [d, sums, q].
  std::vector<at::Tensor> alphas, betas;
  const auto add = [&](const Complex& product) {
    alphas.push_back(2.0 * product.re);
    betas.push_back(2.0 * (product.re * a.re + product.im * a.im));
  };
  for (const Complex& vector : {b, p}) {
    for (int64_t r = 0; r < rows; ++r) add(vector * parts(c.select(0, r)));
  }
  const Complex conjugate = {p.re, -p.im};
  add(b * conjugate);
  add(p * conjugate);
  const at::Tensor alpha = at::stack(alphas, 1), beta = at::stack(betas, 1);
  const Complex with_alpha = {at::bmm(alpha, inverse.re), at::bmm(alpha, inverse.im)};
  const Complex with_beta = {at::bmm(beta, inverse.re), at::bmm(beta, inverse.im)};
  const at::Tensor sums = as_tensor(minus * with_alpha - plus * with_beta);

  const at::Tensor step = dt.view({channels, 1, 1});
  const at::Tensor k = as_tensor({step * plus.re, step * plus.im});
  const at::Tensor low_rank = k * sums.narrow(1, rows, rows) * sums.narrow(1, 2 * rows, 1) /
                              (1.0 + k * sums.narrow(1, 2 * rows + 1, 1));
  const at::Tensor f = step * (sums.narrow(1, 0, rows) - low_rank);  // [d, rows, q]
  const at::Tensor taps = at::matmul(at::real(f), constant(nodes.real, {count, length}, c)) +
                          at::matmul(at::imag(f), constant(nodes.imag, {count, length}, c));
  return taps.permute({1, 2, 0}).to(at::kFloat).contiguous();
}

struct Taps : Function<Taps> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& inv_dt,
                            const at::Tensor& a_real, const at::Tensor& a_imag, const at::Tensor& b,
                            const at::Tensor& p, const at::Tensor& c, int64_t l_kernel,
                            int64_t length) {
    const variable_list params = {inv_dt, a_real, a_imag, b, p, c};
    ctx->save_for_backward(params);
    ctx->saved_data["l_kernel"] = l_kernel;
    ctx->saved_data["length"] = length;
    return make_taps(params, l_kernel, length);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::AutoGradMode enabled(true);
    variable_list params = ctx->get_saved_variables();
    for (at::Tensor& param : params) param = param.detach().requires_grad_(true);
    const at::Tensor taps =
        make_taps(params, ctx->saved_data["l_kernel"].toInt(), ctx->saved_data["length"].toInt());
    variable_list slopes = torch::autograd::grad({taps}, params, {grads[0]});
    slopes.resize(slopes.size() + 2);
    return slopes;
  }
};

}  // namespace

at::Tensor s4_taps(const S4Parameters& params, int64_t length) {
  return Taps::apply(params.inv_dt, params.a_real, params.a_imag, params.b, params.p, params.c,
                     params.l_kernel, length);
}

at::Tensor s4_rows(at::Tensor taps, const at::Tensor& d, const S4ConvOp& op) {
  if (op.channel >= 0) {
    taps = taps.select(2, op.channel).view({2, op.copies, taps.size(1)}).transpose(1, 2);
  }
  const int64_t half = taps.size(0) / 2, length = taps.size(1);
  const at::Tensor past = taps.narrow(0, 0, half), ahead = taps.narrow(0, half, half);
  at::Tensor own = past.narrow(1, 0, 1);
  if (d.defined()) own = own + d.unsqueeze(1);
  return at::cat({ahead.flip(1), own, past.narrow(1, 1, length - 1)}, 1);
}

}  // namespace vig::train
