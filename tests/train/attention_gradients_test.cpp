// Gradients of attention, softmax and gated linear, against differences of its values.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <tuple>

#include "vig/torch/kernel_ops.h"
#include "vig/torch/plain_ops.h"

namespace vig::train {
namespace {

double relative_distance(const at::Tensor& value, const at::Tensor& expected) {
  const double largest = expected.abs().max().item<double>();
  return (value.reshape(expected.sizes()) - expected).abs().max().item<double>() / largest;
}

using Tensors = std::vector<at::Tensor>;
using Function = std::function<at::Tensor(const Tensors&)>;

// The gradients of sum(f(x) * weights) in LibTorch's operations, in double, are the differences
// along random directions; those of the kernels are the same.
void expect_slopes(const Tensors& values, const Function& plain, const Function& kernels) {
  Tensors exact, inputs;
  for (const at::Tensor& x : values) {
    exact.push_back(x.to(at::kDouble).set_requires_grad(true));
    inputs.push_back(x.clone().set_requires_grad(true));
  }
  const at::Tensor o = plain(exact);
  const at::Tensor weights = at::randn(o.sizes(), at::kDouble);
  (o * weights).sum().backward();
  (kernels(inputs) * weights.to(at::kFloat)).sum().backward();
  for (size_t i = 0; i < values.size(); ++i) {
    at::NoGradGuard no_grad;
    const at::Tensor change = at::randn(exact[i].sizes(), at::kDouble) * 1e-6;
    Tensors up = exact, down = exact;
    up[i] = exact[i] + change;
    down[i] = exact[i] - change;
    const double difference =
        ((plain(up) - plain(down)) * weights).sum().template item<double>() / 2;
    const double slope = (exact[i].grad() * change).sum().item<double>();
    EXPECT_NEAR(slope, difference,
                1e-6 * exact[i].grad().norm().item<double>() * change.norm().item<double>())
        << "operand " << i;
    EXPECT_LE(relative_distance(inputs[i].grad().to(at::kDouble), exact[i].grad()), 1e-5)
        << "operand " << i;
  }
}

TEST(AttentionGradients, AreTheSlopes) {
  for (const auto& [height, width, heads] :
       {std::tuple(1, 1, 1), std::tuple(3, 7, 2), std::tuple(1, 130, 3)}) {
    const AttentionOp op{heads};
    expect_slopes(
        {at::randn({2, height, width, 3 * heads * 5})},
        [&](const Tensors& x) { return PlainOps::attention(x[0], op); },
        [&](const Tensors& x) { return KernelOps::attention(x[0], op); });
  }
  for (const WindowAttentionOp& op :
       {WindowAttentionOp{2, 3, 4, false}, {2, 3, 4, true}, {1, 7, 7, true}, {3, 2, 2, false}}) {
    expect_slopes(
        {at::randn({2, 5, 9, 3 * op.heads * 6}),
         at::randn({(2 * op.window_height - 1) * (2 * op.window_width - 1), op.heads}),
         at::randn({3 * op.heads * 6})},
        [&](const Tensors& x) { return PlainOps::window_attention(x[0], x[1], x[2], op); },
        [&](const Tensors& x) { return KernelOps::window_attention(x[0], x[1], x[2], op); });
  }
}

// The scan in one direction, backwards, and in both with gates of their own or the same ones.
TEST(GlaGradients, AreTheSlopes) {
  for (const GlaDirection direction : {GlaDirection::kForward, GlaDirection::kBackward,
                                       GlaDirection::kBoth, GlaDirection::kBothShared}) {
    SCOPED_TRACE(static_cast<int>(direction));
    const GlaOp op{3, 4, 5, direction};
    expect_slopes(
        {at::randn({2, 3, 7, 3 * (4 + 4 + 5)}), at::randn({2, 3, 7, gla_gate_channels(op)})},
        [&](const Tensors& x) { return PlainOps::gla(x[0], x[1], op); },
        [&](const Tensors& x) { return KernelOps::gla(x[0], x[1], op); });
  }
}

}  // namespace
}  // namespace vig::train
