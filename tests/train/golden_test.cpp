// Losses and gradients of the golden cases, on our kernels and in LibTorch's own operations.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/peers.h"
#include "support/tree.h"
#include "vig/torch/forward.h"
#include "vig/torch/kernel_ops.h"
#include "vig/torch/parameters.h"
#include "vig/torch/plain_ops.h"
#include "vig/torch/tensor_memory.h"
#include "vig/train/tasks/soft_cross_entropy.h"
#include "vig/verify/golden_case.h"
#include "vig/weights/elements.h"

namespace vig::train {
namespace {

// Asked for: 1e-3 of the largest value. What float32 leaves is far below.
constexpr double kTolerance = 1e-4;

at::Tensor to_tensor(const TensorView& view) {
  const std::vector<float> values = to_floats(view);
  at::Tensor tensor = at::empty(view.shape.sizes(), at::kFloat);
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

// The largest difference as a share of the largest value; NaN counts as infinite.
double golden_distance(const at::Tensor& value, const at::Tensor& expected) {
  const double largest = expected.abs().max().item<double>();
  const double difference =
      (value.detach().reshape(expected.sizes()) - expected).abs().max().item<double>();
  if (!(difference <= 1e30)) return 1e30;
  return difference / std::max(largest, 1e-30);
}

std::vector<std::string> cases(const std::string& prefix) {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(test::kFixtures) + "/golden")) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors") && name.starts_with(prefix)) {
      files.push_back(entry.path().string());
    }
  }
  return files;
}

// A case's network with its parameters, and what it makes of the input.
struct CaseRun {
  CaseRun(const GoldenCase& golden, const ModelSpec& spec, bool kernels)
      : input(to_tensor(golden.tensor("input")).permute({0, 2, 3, 1}).contiguous()),
        graph(build_graph(spec, static_cast<int>(input.size(1)), static_cast<int>(input.size(2)))),
        parameters(graph.params, *random_weights(graph.params, 1), at::kCPU) {
    {
      at::NoGradGuard no_grad;
      for (size_t i = 0; i < parameters.size(); ++i) {
        const NamedTensor* stored = golden.tensors->find("param/" + parameters.spec(i).name);
        parameters[i].copy_(to_tensor(stored->view));
      }
    }
    ForwardOptions options;
    options.kernels = kernels;
    logits = forward_logits(graph, parameters.views(), input, options);
  }

  at::Tensor input;
  Graph graph;
  Parameters parameters;
  at::Tensor logits;
};

class Golden : public testing::TestWithParam<bool> {  // on our kernels, or not
 protected:
  // As in the program: LibTorch's own operations must be able to use that memory, too.
  static void SetUpTestSuite() { keep_tensor_memory(); }
};

TEST_P(Golden, BaselinesHaveTheOriginalsLogits) {
  const std::vector<std::string> files = test::peer_cases();
  ASSERT_GE(files.size(), 2u);
  for (const std::string& file : files) {
    const GoldenCase golden = open_golden_case(file);
    for (const GoldenVersion& version : golden.versions) {
      const CaseRun run(golden, version.spec, GetParam());
      EXPECT_LE(golden_distance(run.logits, to_tensor(golden.tensor(version.output))), 1e-5)
          << file << " " << version.output;
    }
  }
}

TEST_P(Golden, NetworksHaveTheOriginalsLossAndGradients) {
  std::vector<std::string> files = cases("vig");
  ASSERT_GE(files.size(), 6u);
  for (const std::string& file : test::peer_cases()) {
    if (open_golden_case(file).tensors->find("loss") != nullptr) files.push_back(file);
  }
  size_t gradients = 0;
  for (const std::string& file : files) {
    const GoldenCase golden = open_golden_case(file);
    const CaseRun run(golden, golden.spec, GetParam());
    const at::Tensor& logits = run.logits;
    const Parameters& parameters = run.parameters;
    EXPECT_LE(golden_distance(logits, to_tensor(golden.tensor("output"))), 1e-4) << file;
    if (golden.tensors->find("loss") == nullptr) continue;

    const NamedTensor* label = golden.tensors->find("label");
    ASSERT_EQ(label->view.dtype, DType::kI64);
    at::Tensor targets = at::zeros_like(logits);
    for (int64_t i = 0; i < logits.size(0); ++i) {
      targets[i][static_cast<const int64_t*>(label->view.data)[i]] = 1;
    }
    const at::Tensor loss = soft_cross_entropy(logits, targets);
    EXPECT_LE(golden_distance(loss, to_tensor(golden.tensor("loss")).squeeze()), 1e-5) << file;
    loss.backward();
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters.spec(i).trained) continue;
      const std::string name = "grad/" + parameters.spec(i).name;
      EXPECT_LE(golden_distance(parameters[i].grad(), to_tensor(golden.tensor(name))), kTolerance)
          << file << " " << name;
      ++gradients;
    }
  }
  EXPECT_GT(gradients, 100u);
}

TEST_P(Golden, ScansHaveTheEquationsGradients) {
  const std::vector<std::string> files = cases("bigla");
  ASSERT_GE(files.size(), 7u);
  for (const std::string& file : files) {
    const GoldenCase golden = open_golden_case(file);
    const auto part = [&](const char* name) { return to_tensor(golden.tensor(name)); };
    const at::Tensor q = part("q"), v = part("v");
    const int64_t batch = q.size(0), tokens = q.size(1), heads = q.size(2);
    const auto flat = [&](const at::Tensor& x) { return x.reshape({batch, 1, tokens, -1}); };
    const at::Tensor qkv = at::cat({flat(q), flat(part("k")), flat(v)}, 3).set_requires_grad(true);
    const at::Tensor gates =
        at::cat({flat(part("gate_logit_forward")), flat(part("gate_logit_backward"))}, 3)
            .set_requires_grad(true);
    const GlaOp op{static_cast<int>(heads), static_cast<int>(q.size(3)),
                   static_cast<int>(v.size(3)), GlaDirection::kBoth};
    const at::Tensor o =
        GetParam() ? KernelOps::gla(qkv, gates, op) : PlainOps::gla(qkv, gates, op);
    EXPECT_LE(golden_distance(o, part("o")), kTolerance) << file;
    (o * flat(part("do"))).sum().backward();
    const int64_t keys = heads * q.size(3);
    const auto check = [&](const at::Tensor& gradient, int64_t first, const char* name) {
      const at::Tensor expected = part(name);
      EXPECT_LE(
          golden_distance(gradient.narrow(3, first, expected.numel() / (batch * tokens)), expected),
          kTolerance)
          << file << " " << name;
    };
    check(qkv.grad(), 0, "dq");
    check(qkv.grad(), keys, "dk");
    check(qkv.grad(), 2 * keys, "dv");
    check(gates.grad(), 0, "dgate_logit_forward");
    check(gates.grad(), keys, "dgate_logit_backward");
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, Golden, testing::Values(true, false),
                         [](const auto& which) { return which.param ? "Kernels" : "Plain"; });

}  // namespace
}  // namespace vig::train
