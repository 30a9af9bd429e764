// A batch norm that found no weights to be folded into.
#include "vig/runtime/calls/batch_norm.h"

#include <fmt/format.h>

#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

BatchNormParams norm_params(const Node& node) {
  return {node.params[0], node.params[1], node.params[2], node.params[3],
          std::get<BatchNormOp>(node.op).eps};
}

class BatchNormCall final : public KernelCall {
 public:
  BatchNormCall(int in, int out, const BatchNormParams& norm)
      : KernelCall(out), in_(in), norm_(norm) {}

  std::vector<int> operands() const override { return {in_}; }
  const char* kind() const override { return "norm"; }

  void bind(const Operands& operands) override {
    const int64_t channels = operands.channels(result());
    const ChannelAffine affine =
        affine_of(norm_, channels, [&](int param) { return operands.weight(param); });
    scale_.assign(affine.scale.begin(), affine.scale.end());
    shift_.assign(affine.shift.begin(), affine.shift.end());
  }
  size_t bound_bytes() const override { return (scale_.size() + shift_.size()) * sizeof(float); }

  void run(const Bindings& bindings, const Tile& tile) const override {
    PointwiseArgs args;
    args.kind = kProduct;
    args.a = bindings.rows(in_, tile);
    args.b = {scale_.data(), 0};
    args.out = bindings.tile(result(), tile);
    args.out_stride = bindings.stride(result());
    args.rows = tile.rows();
    args.channels = bindings.channels(result());
    pointwise(args);
    args.kind = kSum;
    args.a = {args.out, args.out_stride};
    args.b = {shift_.data(), 0};
    pointwise(args);
  }

 private:
  int in_;
  BatchNormParams norm_;
  std::vector<float> scale_, shift_;
};

}  // namespace

BatchNormParams fused_norm(const Lowering& to) {
  return to.unit().norm < 0 ? BatchNormParams{} : norm_params(to.node(to.unit().norm));
}

FoldedWeights fold_norm(const BatchNormParams& norm, const Weights& weights, int weight, int bias,
                        const Shape& shape) {
  const auto data = [&](int param) { return weights.data(static_cast<size_t>(param)); };
  const int64_t channels = shape[0], count = shape.elements() / channels;
  FoldedWeights folded;
  const Floats floats = weights.floats(static_cast<size_t>(weight));
  folded.weight.assign(floats.data(), floats.data() + channels * count);
  folded.bias.assign(static_cast<size_t>(channels), 0.0f);
  if (bias >= 0) folded.bias.assign(data(bias), data(bias) + channels);
  if (!norm.exists()) return folded;
  const ChannelAffine affine = affine_of(norm, channels, data);
  for (size_t c = 0; c < folded.bias.size(); ++c) {
    float* row = folded.weight.data() + static_cast<int64_t>(c) * count;
    for (int64_t i = 0; i < count; ++i) row[i] = static_cast<float>(row[i] * affine.scale[c]);
    folded.bias[c] = static_cast<float>(folded.bias[c] * affine.scale[c] + affine.shift[c]);
  }
  return folded;
}

std::vector<float> fold_into_scales(const BatchNormParams& norm, const Weights& weights, int bias,
                                    std::span<float> scales) {
  const auto data = [&](int param) { return weights.data(static_cast<size_t>(param)); };
  std::vector<float> folded(scales.size(), 0.0f);
  if (bias >= 0) folded.assign(data(bias), data(bias) + scales.size());
  if (!norm.exists()) return folded;
  const ChannelAffine affine = affine_of(norm, static_cast<int64_t>(scales.size()), data);
  for (size_t c = 0; c < scales.size(); ++c) {
    scales[c] = static_cast<float>(scales[c] * affine.scale[c]);
    folded[c] = static_cast<float>(folded[c] * affine.scale[c] + affine.shift[c]);
  }
  return folded;
}

std::string packed_layout(std::string_view layout, int bias, const BatchNormParams& norm) {
  std::string text(layout);
  if (bias >= 0) text += fmt::format(" with bias {}", bias);
  if (norm.exists()) text += fmt::format(" with batch norm {}", norm.weight);
  return text;
}

void lower(const BatchNormOp&, Lowering& to) {
  to.add(std::make_unique<BatchNormCall>(to.operand(0), to.result(),
                                         norm_params(to.node(to.unit().node))));
}

}  // namespace vig
