// Maps and gradients of the backbones of dense prediction in training, on our kernels and in
// LibTorch's own operations. Sizes and options are those of the case's files.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/golden_files.h"
#include "vig/torch/forward.h"
#include "vig/torch/parameters.h"
#include "vig/torch/tensor_memory.h"
#include "vig/verify/golden_case.h"
#include "vig/weights/elements.h"

namespace vig::train {
namespace {

constexpr double kMapTolerance = 1e-5;       // of the largest value
constexpr double kGradientTolerance = 5e-4;  // the same

at::Tensor to_tensor(const TensorView& view) {
  const std::vector<float> values = to_floats(view);
  at::Tensor tensor = at::empty(view.shape.sizes(), at::kFloat);
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

double largest(const at::Tensor& value) { return value.abs().max().item<double>(); }

double distance(const at::Tensor& value, const at::Tensor& expected, double scale) {
  const double difference = largest(value.detach().reshape(expected.sizes()) - expected);
  return difference <= 1e30 ? difference / std::max(scale, 1e-30) : 1e30;
}

// Cases with gradients.
std::vector<std::string> trained_cases() {
  std::vector<std::string> files;
  for (const std::string& file : test::dense_files()) {
    const std::string name = std::filesystem::path(file).stem().string();
    if (name.find("-adapter-") == std::string::npos &&
        name.find("-pyramid-") == std::string::npos) {
      continue;
    }
    if (open_golden_case(file).tensors->find("train/loss") != nullptr) files.push_back(file);
  }
  return files;
}

class BackboneGolden : public testing::TestWithParam<bool> {  // on our kernels, or not
 protected:
  static void SetUpTestSuite() { keep_tensor_memory(); }
};

TEST_P(BackboneGolden, LearnAsTheOriginals) {
  const std::vector<std::string> files = trained_cases();
  ASSERT_GE(files.size(), 3u);
  for (const std::string& file : files) {
    const GoldenCase golden = open_golden_case(file);
    const auto stored = [&](const std::string& name) { return to_tensor(golden.tensor(name)); };
    const Graph graph = golden.graph(golden.versions.at(0));
    Parameters parameters(graph.params, *random_weights(graph.params, 1), at::kCPU);
    {
      at::NoGradGuard no_grad;
      for (size_t i = 0; i < parameters.size(); ++i) {
        parameters[i].copy_(stored("param/" + parameters.spec(i).name));
      }
    }
    at::Tensor input = stored("input").permute({0, 2, 3, 1}).contiguous();
    input.set_requires_grad(true);
    BatchStatistics statistics(input.size(0));
    ForwardOptions options;
    options.kernels = GetParam();
    options.statistics = &statistics;
    const std::vector<at::Tensor> values = forward(graph, parameters.views(), {input}, options);

    at::Tensor loss;
    for (const std::string map : {"f1", "f2", "f3", "f4"}) {
      const at::Tensor found = values[graph.find_output("backbone." + map)].permute({0, 3, 1, 2});
      const at::Tensor expected = stored("train/" + map);
      EXPECT_LE(distance(found, expected, largest(expected)), kMapTolerance) << file << " " << map;
      const at::Tensor part = (found * stored("upstream/" + map)).sum();
      loss = loss.defined() ? loss + part : part;
    }
    loss.backward();

    // Some are zero by nature, before a batch norm: small beside all others.
    double most = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const std::string name = "grad/" + parameters.spec(i).name;
      if (golden.tensors->find(name) != nullptr) most = std::max(most, largest(stored(name)));
    }
    size_t compared = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const std::string name = "grad/" + parameters.spec(i).name;
      if (!parameters.spec(i).trained) continue;
      const at::Tensor expected = stored(name);
      const double scale = std::max(largest(expected), 1e-6 * most);
      EXPECT_LE(distance(parameters[i].grad(), expected, scale), kGradientTolerance)
          << file << " " << name;
      ++compared;
    }
    EXPECT_GT(compared, 50u);
    const at::Tensor slope = stored("grad/input").permute({0, 2, 3, 1});
    EXPECT_LE(distance(input.grad(), slope, largest(slope)), kGradientTolerance) << file;

    const std::vector<double> sums = statistic_sums({&graph, 1}, {&statistics, 1});
    move_running_statistics({&graph, 1}, sums, parameters);
    for (size_t i = 0; i < parameters.size(); ++i) {
      const std::string name = "train/after/" + parameters.spec(i).name;
      if (golden.tensors->find(name) == nullptr) continue;
      const at::Tensor expected = stored(name);
      EXPECT_LE(distance(parameters[i], expected, largest(expected)), 1e-5) << file << " " << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, BackboneGolden, testing::Values(true, false),
                         [](const auto& which) { return which.param ? "Kernels" : "Plain"; });

}  // namespace
}  // namespace vig::train
