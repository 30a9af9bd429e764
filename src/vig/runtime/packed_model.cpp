#include "vig/runtime/packed_model.h"

#include <algorithm>

#include "vig/kernels/conv.h"
#include "vig/runtime/program.h"

namespace vig {
namespace {

size_t aligned(size_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace

std::shared_ptr<const PackedModel> PackedModel::make(const Graph& graph,
                                                     std::shared_ptr<const Weights> weights) {
  return std::make_shared<PackedWeights>(graph, std::move(weights));
}

PackedWeights::PackedWeights(const Graph& graph, std::shared_ptr<const Weights> weights)
    : weights_(std::move(weights)) {
  matrices_.resize(graph.params.size());
  taps_.resize(graph.params.size());
  const std::vector<int> paired_params = lower(graph, {}).paired_params;
  const auto is_paired = [&](int param) {
    return std::find(paired_params.begin(), paired_params.end(), param) != paired_params.end();
  };
  const auto is_matrix = [](const Node& node) {
    return std::holds_alternative<LinearOp>(node.op) || std::holds_alternative<ConvOp>(node.op);
  };

  size_t floats = 0;
  for (const Node& node : graph.nodes) {
    if (node.params.empty()) continue;
    const Shape& shape = graph.params[node.params[0]].shape;
    if (is_matrix(node)) {
      floats += aligned(
          gemm_packed_floats(shape[0], shape.elements() / shape[0], is_paired(node.params[0])));
    } else if (std::holds_alternative<DepthwiseConvOp>(node.op)) {
      floats += aligned(static_cast<size_t>(shape.elements()));
    }
  }
  buffer_ = Buffer(floats * sizeof(float));

  float* next = buffer_.floats();
  std::vector<float> reordered;
  for (const Node& node : graph.nodes) {
    if (node.params.empty()) continue;
    const int param = node.params[0];
    const Shape& shape = graph.params[param].shape;
    const float* weight = raw(param);
    if (std::holds_alternative<DepthwiseConvOp>(node.op)) {
      depthwise_taps(weight, shape[0], shape[2], next);
      taps_[param] = next;
      next += aligned(static_cast<size_t>(shape.elements()));
      continue;
    }
    if (!is_matrix(node)) continue;
    if (std::holds_alternative<ConvOp>(node.op)) {
      reordered.resize(static_cast<size_t>(shape.elements()));
      patch_weight(weight, shape[0], shape[1], shape[2], reordered.data());
      weight = reordered.data();
    }
    const int64_t k = shape.elements() / shape[0];
    const float* bias = node.params.size() > 1 ? raw(node.params[1]) : nullptr;
    matrices_[param] = gemm_pack(weight, bias, shape[0], k, is_paired(param), next);
    next += aligned(gemm_packed_floats(shape[0], k, is_paired(param)));
  }
}

}  // namespace vig
