// DeiT, Swin and gMLP executed by training: the original code's outputs on our kernels and in
// LibTorch's own operations, and gradients of attention against differences of its values.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <tuple>

#include "support/peer_cases.h"
#include "vig/pipeline/golden_case.h"
#include "vig/train/forward.h"
#include "vig/train/kernel_ops.h"
#include "vig/train/parameters.h"
#include "vig/train/plain_ops.h"
#include "vig/weights/elements.h"

namespace vig::train {
namespace {

at::Tensor to_tensor(const TensorView& view) {
  const std::vector<float> values = to_floats(view);
  at::Tensor tensor = at::empty(view.shape.sizes(), at::kFloat);
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

double distance(const at::Tensor& value, const at::Tensor& expected) {
  const double largest = expected.abs().max().item<double>();
  return (value.reshape(expected.sizes()) - expected).abs().max().item<double>() / largest;
}

TEST(AttentionGolden, TrainingHasTheOriginalsOutputs) {
  at::NoGradGuard no_grad;
  for (const char* family : {"deit", "swin", "gmlp"}) {
    for (const std::string& file : test::peer_cases(family)) {
      const GoldenCase golden = open_golden_case(file);
      const at::Tensor input = to_tensor(golden.tensor("input")).permute({0, 2, 3, 1}).contiguous();
      const Graph graph = build_graph(golden.spec, static_cast<int>(input.size(1)),
                                      static_cast<int>(input.size(2)));
      Parameters parameters(graph.params, *random_weights(graph.params, 1), at::kCPU);
      for (size_t i = 0; i < parameters.size(); ++i) {
        parameters[i].copy_(to_tensor(golden.tensor("param/" + parameters.spec(i).name)));
      }
      for (const bool kernels : {true, false}) {
        ForwardOptions options;
        options.kernels = kernels;
        const at::Tensor logits = forward_logits(graph, parameters.views(), input, options);
        EXPECT_LE(distance(logits, to_tensor(golden.tensor("output"))), 1e-5)
            << file << (kernels ? ", kernels" : ", plain");
      }
    }
  }
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
    const at::Tensor step = at::randn(exact[i].sizes(), at::kDouble) * 1e-6;
    Tensors up = exact, down = exact;
    up[i] = exact[i] + step;
    down[i] = exact[i] - step;
    const double difference = ((plain(up) - plain(down)) * weights).sum().item<double>() / 2;
    const double slope = (exact[i].grad() * step).sum().item<double>();
    EXPECT_NEAR(slope, difference,
                1e-6 * exact[i].grad().norm().item<double>() * step.norm().item<double>())
        << "operand " << i;
    EXPECT_LE(distance(inputs[i].grad().to(at::kDouble), exact[i].grad()), 1e-5) << "operand " << i;
  }
}

TEST(AttentionGolden, GradientsAreTheSlopes) {
  at::manual_seed(1);
  for (const auto& [height, width, heads] :
       {std::tuple(1, 1, 1), std::tuple(3, 7, 2), std::tuple(1, 130, 3)}) {
    const AttentionOp op{heads, false};
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

}  // namespace
}  // namespace vig::train
