// Training and inference run the same network: every model run by LibTorch
// and run by the engine.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/networks.h"
#include "vig/torch/forward.h"
#include "vig/torch/parameters.h"

namespace vig::test {
namespace {

std::vector<NetworkCase> every_model() {
  std::vector<NetworkCase> cases = network_cases();
  for (const ModelSpec& spec : model_zoo()) {
    const bool there = std::any_of(cases.begin(), cases.end(),
                                   [&](const NetworkCase& c) { return c.model == spec.name; });
    if (!there && spec.name.starts_with("test_")) {
      const GridSize size = described_size(spec);
      cases.push_back({spec.name, spec.name, {}, size.height, size.width});
    }
  }
  return cases;
}

// Values for `batch` images: a tensor for each input of the graph.
std::vector<at::Tensor> random_inputs(const Network& network, int batch) {
  std::vector<at::Tensor> inputs;
  for (const Output& input : network.graph.inputs) {
    const Grid& grid = network.graph.node(input.node).grid;
    inputs.push_back(at::empty({batch, grid.height, grid.width, grid.channels}, at::kFloat));
  }
  for (int i = 0; i < batch; ++i) {
    const Values values = network.image(static_cast<uint64_t>(i) + 1);
    auto next = values.begin();
    for (at::Tensor& input : inputs) {
      const int64_t count = input[i].numel();
      std::copy_n(next, count, input[i].data_ptr<float>());
      next += count;
    }
  }
  return inputs;
}

// The logits, or of a network that has none all outputs, one behind the other.
std::vector<int> output_nodes(const Graph& graph) {
  const int logits = graph.find_output("logits");
  if (logits >= 0) return {logits};
  std::vector<int> nodes;
  for (const Output& output : graph.outputs) nodes.push_back(output.node);
  return nodes;
}

at::Tensor logits_of(const Network& network, const train::Parameters& parameters,
                     const std::vector<at::Tensor>& inputs, const train::ForwardOptions& options) {
  const auto values = train::forward(network.graph, parameters.views(), inputs, options);
  std::vector<at::Tensor> outputs;
  for (const int node : output_nodes(network.graph)) outputs.push_back(values[node].flatten(1));
  return at::cat(outputs, 1).contiguous();
}

Values logits_of(const Session& session, int image) {
  Values outputs;
  for (const int node : output_nodes(session.graph())) {
    const Values value = read_value(session, node, image);
    outputs.insert(outputs.end(), value.begin(), value.end());
  }
  return outputs;
}

void expect_same_logits(const NetworkCase& description) {
  SCOPED_TRACE(description.name);
  const Network network(description);
  const train::Parameters parameters(network.graph.params, *network.weights, at::kCPU);
  constexpr int kBatch = 3;
  Session session = network.session({.batch = kBatch, .threads = 1});
  const std::vector<at::Tensor> inputs = random_inputs(network, kBatch);
  for (int i = 0; i < kBatch; ++i) {
    set_input(session, i, network.image(static_cast<uint64_t>(i) + 1));
  }
  session.run(kBatch);
  for (const bool kernels : {true, false}) {
    train::ForwardOptions options;
    options.kernels = kernels;
    const at::Tensor logits = logits_of(network, parameters, inputs, options);
    for (int i = 0; i < kBatch; ++i) {
      const Values expected = logits_of(session, i);
      ASSERT_EQ(static_cast<int64_t>(expected.size()), logits.size(1));
      float largest = 0, difference = 0;
      for (int64_t c = 0; c < logits.size(1); ++c) {
        const float value = logits.data_ptr<float>()[i * logits.size(1) + c];
        ASSERT_TRUE(std::isfinite(value));
        largest = std::max(largest, std::abs(expected[c]));
        difference = std::max(difference, std::abs(value - expected[c]));
      }
      EXPECT_GT(largest, 0.01f);
      EXPECT_LE(difference, 1e-4f * std::min(largest, 1.0f)) << (kernels ? "kernels" : "plain");
    }
  }
}

// One test for all: starting with LibTorch takes longer than a network.
TEST(Engine, HasTheLogitsOfTraining) {
  for (const NetworkCase& network : every_model()) expect_same_logits(network);
}

// The gradients of both executions, for operations that no golden case has.
TEST(Engine, KernelsAndPlainOperationsHaveTheSameGradients) {
  for (const char* name : {"convolutions",
                           "front_token",
                           "middle_token",
                           "end_tokens",
                           "two_inputs",
                           "maps",
                           "maps_small",
                           "grid_layer",
                           "mini_resnet",
                           "test_resnet",
                           "test_convnext",
                           "test_regnet",
                           "test_efficientnet",
                           "test_deit_odd",
                           "test_swin",
                           "test_swin_odd",
                           "gmlp_oblong",
                           "test_vim_odd",
                           "test_vrwkv_odd",
                           "test_vrwkv_formula",
                           "test_vmamba_odd",
                           "scans",
                           "test_plainmamba_odd",
                           "test_efficientvmamba_odd",
                           "test_localvmamba_odd",
                           "test_localvim_odd",
                           "test_localvim_token",
                           "test_s4nd_odd",
                           "test_s4nd_far"}) {
    SCOPED_TRACE(name);
    const Network network(network_case(name));
    const std::vector<at::Tensor> inputs = random_inputs(network, 3);
    std::vector<at::Tensor> gradients;
    for (const bool kernels : {true, false}) {
      train::Parameters parameters(network.graph.params, *network.weights, at::kCPU);
      train::BatchStatistics statistics;
      train::ForwardOptions options;
      options.kernels = kernels;
      options.statistics = &statistics;
      const at::Tensor logits = logits_of(network, parameters, inputs, options);
      const at::Tensor weights = at::arange(logits.numel(), at::kFloat).view(logits.sizes()).cos();
      (logits * weights).sum().backward();
      for (size_t i = 0; i < parameters.size(); ++i) {
        const at::Tensor gradient = parameters[i].grad().clone();
        if (kernels) {
          gradients.push_back(gradient);
          continue;
        }
        const ParamSpec& param = network.graph.params[i];
        const double largest = gradient.abs().max().item<double>();
        const bool unseen = param.name.starts_with("shared") || param.name.starts_with("classes");
        if (param.trained && !unseen) {  // the logits see all others
          EXPECT_GT(largest, 0) << param.name;
        }
        // A bias in front of a batch norm has no effect: its gradient is rounding alone.
        EXPECT_LE((gradient - gradients[i]).abs().max().item<double>(), 1e-4 * largest + 2e-5)
            << param.name;
      }
    }
  }
}

}  // namespace
}  // namespace vig::test
