// Deformable attention in training: gradients against differences and golden cases, on our kernels
// and in LibTorch's own operations.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "golden/deformable_module.h"
#include "train/golden_values.h"
#include "vig/torch/forward.h"
#include "vig/torch/kernel_ops.h"
#include "vig/torch/plain_ops.h"

namespace vig::train {
namespace {

using test::OperatorCase;

double largest_difference(const at::Tensor& value, const at::Tensor& expected) {
  const double d = (value.detach().reshape(expected.sizes()) - expected).abs().max().item<double>();
  return d <= 1e30 ? d : 1e30;
}

TEST(DeformableTraining, MatchesTheGoldenCases) {
  for (const test::DeformableModule& module : test::deformable_modules()) {
    for (const bool kernels : {true, false}) {
      const OperatorCase golden(module.name, "dense");
      const Graph graph = module.graph();
      std::vector<at::Tensor> params, inputs;
      for (const ParamSpec& spec : graph.params) {
        params.push_back(read(golden, test::DeformableModule::tensor_of(spec.name)));
        params.back().set_requires_grad(true);
      }
      for (const Output& input : graph.inputs) {
        inputs.push_back(read(golden, input.name).unsqueeze(1));
        inputs.back().set_requires_grad(true);
      }
      ForwardOptions options;
      options.kernels = kernels;
      const at::Tensor output =
          forward(graph, params, inputs, options)[graph.find_output("output")];
      EXPECT_LE(largest_difference(output, read(golden, "output")), 2e-5) << module.name << kernels;
      (output.squeeze(1) * read(golden, "do")).sum().backward();
      const auto expect = [&](const at::Tensor& tensor, const std::string& name) {
        EXPECT_LE(largest_difference(tensor.grad(), read(golden, "grad/" + name)), 2e-4)
            << module.name << " " << name << (kernels ? ", kernels" : ", plain");
      };
      for (size_t i = 0; i < params.size(); ++i) {
        expect(params[i], graph.params[i].name.substr(std::string("attn.").size()));
      }
      for (size_t i = 0; i < inputs.size(); ++i) expect(inputs[i], graph.inputs[i].name);
    }
  }
}

// The same gradients from both executions, in heads and levels of ugly sizes.
TEST(DeformableTraining, KernelsAndPlainOperationsAgree) {
  const DeformableOp op{3, 5, {{7, 4}, {2, 9}}, {{3, 4}, {1, 5}}};
  const std::vector<at::Tensor> values = {at::randn({2, 1, 46, 3 * 7}),
                                          at::randn({2, 1, 17, 3 * 2 * 5 * 2}) * 2,
                                          at::randn({2, 1, 17, 3 * 2 * 5})};
  const at::Tensor weights = at::randn({2, 1, 17, 3 * 7});
  const auto run = [&](bool kernels, at::ScalarType type) {
    std::vector<at::Tensor> x;
    for (const at::Tensor& value : values) {
      x.push_back(value.to(type, false, true).set_requires_grad(true));
    }
    const at::Tensor out = kernels ? KernelOps::deformable(x[0], x[1], x[2], op)
                                   : PlainOps::deformable(x[0], x[1], x[2], op);
    (out * weights.to(type)).sum().backward();
    return std::vector<at::Tensor>{out.detach(), x[0].grad(), x[1].grad(), x[2].grad()};
  };
  const auto exact = run(false, at::kDouble), found = run(true, at::kFloat);
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_LE(largest_difference(found[i].to(at::kDouble), exact[i]),
              3e-6 * std::max(1.0, exact[i].abs().max().item<double>()))
        << i;
  }
}

}  // namespace
}  // namespace vig::train
