#include "runtime/slow_walk.h"

#include <cmath>

#include "vig/kernels/reference/conv.h"
#include "vig/kernels/reference/gemm.h"
#include "vig/kernels/reference/gla.h"
#include "vig/kernels/reference/norm.h"
#include "vig/kernels/reference/pointwise.h"
#include "vig/kernels/reference/pool.h"
#include "vig/kernels/reference/position.h"

namespace vig::test {
namespace {

using Values = std::vector<float>;

class Walk {
 public:
  Walk(const Graph& graph, const Weights& weights) : graph_(graph), weights_(weights) {}

  std::vector<Values> run(const Values& picture) {
    for (const Node& node : graph_.nodes) {
      node_ = &node;
      out_.assign(static_cast<size_t>(node.grid.elements()), 0.0f);
      if (std::holds_alternative<InputOp>(node.op)) out_ = picture;
      std::visit([this](const auto& op) { compute(op); }, node.op);
      values_.push_back(std::move(out_));
    }
    return std::move(values_);
  }

 private:
  const Values& in(size_t i) const { return values_[static_cast<size_t>(node_->inputs[i])]; }
  const Grid& in_grid(size_t i) const { return graph_.node(node_->inputs[i]).grid; }
  const float* param(size_t i) const {
    return i < node_->params.size() ? weights_.data(static_cast<size_t>(node_->params[i]))
                                    : nullptr;
  }
  Rows rows(size_t i) const { return {in(i).data(), in_grid(i).channels}; }

  void compute(const InputOp&) {}

  void product(const float* a, int64_t k, const float* weight) {
    GemmArgs args;
    args.a = a;
    args.lda = k;
    args.rows = node_->grid.positions();
    args.weight.n = node_->grid.channels;
    args.weight.k = k;
    args.c = out_.data();
    args.ldc = node_->grid.channels;
    reference::gemm(weight, param(1), args);
  }

  void compute(const LinearOp&) { product(in(0).data(), in_grid(0).channels, param(0)); }

  // Patches are [kernel, kernel, channels], filters [channels, kernel, kernel].
  void compute(const ConvOp& op) {
    const Grid& from = in_grid(0);
    const int64_t taps = static_cast<int64_t>(op.kernel) * op.kernel;
    const int64_t k = taps * from.channels;
    Values patches(static_cast<size_t>(node_->grid.positions() * k));
    PatchArgs args;
    args.in = in(0).data();
    args.grid = {from.height, from.width, from.channels};
    args.kernel = op.kernel;
    args.stride = op.stride;
    args.padding = op.padding;
    args.out_height = node_->grid.height;
    args.out_width = node_->grid.width;
    args.last_row = node_->grid.positions();
    args.out = patches.data();
    args.out_stride = k;
    reference::gather_patches(args);
    Values filters(static_cast<size_t>(node_->grid.channels * k));
    for (int64_t o = 0; o < node_->grid.channels; ++o) {
      for (int64_t c = 0; c < from.channels; ++c) {
        for (int64_t t = 0; t < taps; ++t) {
          filters[static_cast<size_t>(o * k + t * from.channels + c)] =
              param(0)[(o * from.channels + c) * taps + t];
        }
      }
    }
    product(patches.data(), k, filters.data());
  }

  void compute(const DepthwiseConvOp& op) {
    DepthwiseConvArgs args;
    args.in = in(0).data();
    args.grid = {node_->grid.height, node_->grid.width, node_->grid.channels};
    args.kernel = op.kernel;
    args.last_row = node_->grid.positions();
    args.out = out_.data();
    args.out_stride = node_->grid.channels;
    reference::depthwise_conv(param(0), args);
  }

  NormArgs norm(float eps, int groups) {
    NormArgs args;
    args.in = in(0).data();
    args.in_stride = args.out_stride = args.channels = node_->grid.channels;
    args.out = out_.data();
    args.rows = node_->grid.positions();
    args.eps = eps;
    args.weight = param(0);
    args.bias = param(1);
    args.groups = groups;
    return args;
  }
  void compute(const LayerNormOp& op) { reference::layer_norm(norm(op.eps, 1)); }
  void compute(const RmsNormOp& op) { reference::rms_norm(norm(op.eps, op.groups)); }

  void pointwise(Pointwise kind, Rows a, Rows b) {
    PointwiseArgs args;
    args.kind = kind;
    args.a = a;
    args.b = b;
    args.out = out_.data();
    args.out_stride = args.channels = node_->grid.channels;
    args.rows = node_->grid.positions();
    reference::pointwise(args);
  }
  void compute(const ActivationOp& op) { pointwise({op.function}, rows(0), {}); }
  void compute(const AddOp&) { pointwise(kSum, rows(0), rows(1)); }
  void compute(const MulOp&) { pointwise(kProduct, rows(0), rows(1)); }
  void compute(const ScaleOp&) { pointwise(kProduct, rows(0), {param(0), 0}); }
  void compute(const SwiGluOp&) {
    const Rows both = rows(0);
    pointwise(kSwiGlu, both, {both.data + node_->grid.channels, both.stride});
  }

  void compute(const AddPositionOp& op) {
    const Grid& grid = node_->grid;
    Values table(static_cast<size_t>(grid.elements()));
    reference::resize_positions(
        {param(0), op.rows, op.cols, grid.channels, table.data(), grid.height, grid.width});
    pointwise(kSum, rows(0), {table.data(), grid.channels});
  }

  void compute(const GatedMixOp&) {
    GatedMixArgs args;
    args.gate = rows(0);
    args.o = rows(1);
    args.local = rows(2);
    args.out = out_.data();
    args.out_stride = args.channels = node_->grid.channels;
    args.rows = node_->grid.positions();
    reference::gated_mix(args);
  }

  void compute(const GlaOp& op) {
    Values alpha(in(1).size());
    PointwiseArgs decay;
    decay.kind = {Elementwise::kDecay};
    decay.a = {in(1).data(), 0};
    decay.out = alpha.data();
    decay.rows = 1;
    decay.channels = static_cast<int64_t>(alpha.size());
    reference::pointwise(decay);
    const int64_t keys = static_cast<int64_t>(op.heads) * op.key_dim;
    for (int64_t h = 0; h < op.heads; ++h) {
      GlaArgs args;
      args.tokens = node_->grid.positions();
      args.key_dim = op.key_dim;
      args.value_dim = op.value_dim;
      args.q = in(0).data() + h * op.key_dim;
      args.k = args.q + keys;
      args.v = in(0).data() + 2 * keys + h * op.value_dim;
      args.qkv_stride = in_grid(0).channels;
      args.alpha_stride = in_grid(1).channels;
      const float* first = alpha.data() + h * op.key_dim;
      if (op.direction != GlaDirection::kBackward) args.alpha_forward = first;
      if (op.direction == GlaDirection::kBackward) args.alpha_backward = first;
      if (op.direction == GlaDirection::kBoth) args.alpha_backward = first + keys;
      if (op.direction == GlaDirection::kBothShared) args.alpha_backward = first;
      args.scale =
          1.0f / std::sqrt(static_cast<float>(op.key_dim)) / static_cast<float>(gla_directions(op));
      args.o = out_.data() + h * op.value_dim;
      args.o_stride = node_->grid.channels;
      reference::gla(args);
    }
  }

  void compute(const MeanPoolOp&) {
    const Grid& from = in_grid(0);
    reference::mean_rows(in(0).data(), from.channels, from.positions(), from.channels, out_.data());
  }

  const Graph& graph_;
  const Weights& weights_;
  std::vector<Values> values_;
  const Node* node_ = nullptr;
  Values out_;
};

}  // namespace

std::vector<std::vector<float>> slow_walk(const Graph& graph, const Weights& weights,
                                          const std::vector<float>& picture) {
  return Walk(graph, weights).run(picture);
}

}  // namespace vig::test
