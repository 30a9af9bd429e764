// Heads, necks and whole miniatures of dense prediction against tensors of the original code, in
// both executions of training; and the heads of boxes and masks against LibTorch's own layers.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "golden/dense_cases.h"
#include "train/golden_values.h"
#include "vig/torch/forward.h"
#include "vig/torch/parameters.h"
#include "vig/weights/load.h"

namespace vig::train {
namespace {

using test::DenseCase;
using test::OperatorCase;

// [batch, height, width, channels] of either kind of tensor.
at::Tensor rows(const at::Tensor& tensor) {
  return tensor.dim() == 4 ? tensor.permute({0, 2, 3, 1}).contiguous() : tensor.unsqueeze(1);
}

// The largest difference as a share of the largest value; NaN counts as infinite.
double distance(const at::Tensor& value, const at::Tensor& expected) {
  const double largest = expected.abs().max().item<double>();
  const double apart =
      (value.detach().reshape(expected.sizes()) - expected).abs().max().item<double>();
  return apart <= 1e30 ? apart / largest : 1e30;
}

std::vector<at::Tensor> parameters(const Graph& graph, const DenseCase& golden,
                                   const OperatorCase& file) {
  std::vector<at::Tensor> params;
  for (const ParamSpec& spec : graph.params) {
    params.push_back(read(file, golden.tensor_of(spec.name)));
  }
  return params;
}

class DenseTraining : public testing::TestWithParam<bool> {};

TEST_P(DenseTraining, HasTheOriginalsValues) {
  at::NoGradGuard no_grad;
  for (const DenseCase& golden : test::dense_cases()) {
    const OperatorCase file = golden.tensors();
    std::vector<at::Tensor> inputs;
    for (size_t k = 0; k < golden.inputs.size(); ++k) {
      const Grid& grid = golden.graph.node(golden.graph.inputs[k].node).grid;
      inputs.push_back(
          rows(read(file, golden.inputs[k])).reshape({-1, grid.height, grid.width, grid.channels}));
    }
    ForwardOptions options;
    options.kernels = GetParam();
    const auto values =
        forward(golden.graph, parameters(golden.graph, golden, file), inputs, options);
    for (const auto& [node, tensor] : golden.expected) {
      const at::Tensor& value = values[static_cast<size_t>(node)];
      if (!value.defined()) continue;  // fused into another
      EXPECT_LE(distance(value, rows(read(file, tensor))), golden.tolerance)
          << golden.name << ", " << tensor;
    }
    if (golden.name != "upernet-mini") continue;
    const at::Tensor logits =
        values[static_cast<size_t>(golden.graph.find_output("logits"))].permute({0, 3, 1, 2});
    EXPECT_LE(
        distance(at::upsample_bilinear2d(logits, {64, 96}, false), read(file, "logits_whole")),
        golden.tolerance);
  }
}

// The heads of a detector, written as the original has them.
TEST_P(DenseTraining, HeadsOfBoxesAndMasks) {
  at::NoGradGuard no_grad;
  const DenseCase golden = test::miniature_case("maskrcnn-mini", "test_vig_maskrcnn");
  const OperatorCase file = golden.tensors();
  const std::vector<Graph> graphs = build_graphs(find_model("test_vig_maskrcnn"), 64, 96);
  const std::vector<at::Tensor> params = parameters(graphs[0], golden, file);
  const auto weight = [&](const std::string& layer) {
    return read(file, "param/roi_head." + layer + ".weight");
  };
  const auto bias = [&](const std::string& layer) {
    return read(file, "param/roi_head." + layer + ".bias");
  };
  const auto run = [&](const Graph& graph, const at::Tensor& planes, const char* output) {
    ForwardOptions options;
    options.kernels = GetParam();
    const auto values =
        forward(graph, params, {planes.permute({0, 2, 3, 1}).contiguous()}, options);
    return values[static_cast<size_t>(graph.find_output(output))].permute({0, 3, 1, 2});
  };
  const at::Tensor boxes = at::randn({3, 16, 7, 7});
  at::Tensor x = boxes.flatten(1);
  for (const std::string layer : {"bbox_head.shared_fcs.0", "bbox_head.shared_fcs.1"}) {
    x = at::relu(at::linear(x, weight(layer), bias(layer)));
  }
  const auto scores = [&](const std::string& layer) {
    return at::linear(x, weight(layer), bias(layer)).unsqueeze(-1).unsqueeze(-1);
  };
  EXPECT_LE(distance(run(graphs[1], boxes, "box_cls"), scores("bbox_head.fc_cls")), 1e-5);
  EXPECT_LE(distance(run(graphs[1], boxes, "box_reg"), scores("bbox_head.fc_reg")), 1e-5);

  const at::Tensor masks = at::randn({3, 16, 14, 14});
  x = masks;
  for (int i = 0; i < 4; ++i) {
    const std::string layer = "mask_head.convs." + std::to_string(i) + ".conv";
    x = at::relu(at::conv2d(x, weight(layer), bias(layer), 1, 1));
  }
  const std::string up = "mask_head.upsample", last = "mask_head.conv_logits";
  x = at::relu(at::conv_transpose2d(x, weight(up), bias(up), 2));
  x = at::conv2d(x, weight(last), bias(last));
  EXPECT_LE(distance(run(graphs[2], masks, "mask_logits"), x), 1e-5);
}

// Behind gamma = 0 injectors do not learn yet, gamma does. Fresh offsets and weights do not depend
// on the queries, and so nothing reaches their norms. Biases in front of a batch norm have no
// effect.
TEST_P(DenseTraining, GradientsOfAFreshAdapter) {
  const Graph graph = build_graph(find_model("test_vig_maskrcnn"), 64, 96);
  Parameters parameters(graph.params, *random_weights(graph.params, 1), at::kCPU);
  BatchStatistics statistics;
  ForwardOptions options;
  options.kernels = GetParam();
  options.statistics = &statistics;
  const auto values = forward(graph, parameters.views(), {at::randn({2, 64, 96, 3})}, options);
  at::Tensor loss = at::zeros({});
  for (const Output& output : graph.outputs) {
    const at::Tensor& value = values[static_cast<size_t>(output.node)];
    loss = loss + (value * at::arange(value.numel(), at::kFloat).view(value.sizes()).cos()).sum();
  }
  loss.backward();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ParamSpec& spec = graph.params[i];
    if (!spec.trained || spec.name.starts_with("roi_head.")) continue;
    const double largest = parameters[i].grad().abs().max().item<double>();
    if (spec.name == "backbone.up.bias" || spec.name == "backbone.spm.fc1.bias") {
      EXPECT_LE(largest, 1e-3) << spec.name;
    } else if ((spec.name.find(".injector.") != std::string::npos &&
                !spec.name.ends_with(".gamma")) ||
               spec.name.find(".query_norm.") != std::string::npos) {
      EXPECT_EQ(largest, 0) << spec.name;
    } else {
      EXPECT_GT(largest, 0) << spec.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DenseTraining, testing::Bool(), [](const auto& test) {
  return std::string(test.param ? "Kernels" : "Plain");
});

}  // namespace
}  // namespace vig::train
