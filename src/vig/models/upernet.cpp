#include "vig/models/upernet.h"

#include <fmt/format.h>

#include "vig/base/error.h"
#include "vig/models/blocks.h"

namespace vig {
namespace {

constexpr float kNormEps = 1e-5f;
constexpr size_t kMaxScales = 16;
constexpr Init kClassInit = normal_init(0.01f);

Value conv(Builder& b, Value x, const std::string& name, int channels, int kernel) {
  const Builder::ConvShape shape{.kernel = kernel, .padding = kernel / 2};
  x = conv_norm(b, x, name + ".conv", name + ".bn", channels, shape, kNormEps);
  return b.named(b.activation(x, Elementwise::kRelu), name);
}

Value resize_to(Builder& b, Value x, const Grid& grid) {
  return b.resize(x, grid.height, grid.width, Resampling::kBilinear);
}

Value class_scores(Builder& b, Value x, const std::string& name, float dropout, int classes) {
  if (dropout > 0) x = b.drop_channels(x, dropout);
  b.begin_head();
  return b.named(b.conv(x, name + ".conv_seg", classes, {}, kClassInit), name);
}

}  // namespace

void UperHeadConfig::visit(FieldVisitor& visitor) {
  visitor.visit("head_channels", head_channels);
  visitor.visit("auxiliary_channels", auxiliary_channels);
  visitor.visit("head_dropout", head_dropout);
  visitor.visit("pool_scales", pool_scales);
}

void uper_head(Builder& b, const Pyramid& maps, const UperHeadConfig& config, int classes) {
  if (config.pool_scales.size() > kMaxScales) {
    fail_usage("[upernet] {} pool_scales, expected at most {}", config.pool_scales.size(),
               kMaxScales);
  }
  const std::string name = "decode_head";
  const int channels = config.head_channels;
  const Value last = maps.back();
  std::vector<Value> pooled = {last};
  for (size_t k = 0; k < config.pool_scales.size(); ++k) {
    const Value mean = b.adaptive_pool(last, config.pool_scales[k]);
    const Value part = conv(b, mean, fmt::format("{}.psp_modules.{}.1", name, k), channels, 1);
    pooled.push_back(resize_to(b, part, b.grid(last)));
  }
  Pyramid laterals;
  laterals[3] = conv(b, b.concat_channels(pooled), name + ".bottleneck", channels, 3);
  for (size_t k = 3; k-- > 0;) {
    const Value own = conv(b, maps[k], fmt::format("{}.lateral_convs.{}", name, k), channels, 1);
    laterals[k] = b.add(own, resize_to(b, laterals[k + 1], b.grid(own)));
  }
  std::vector<Value> parts;
  for (size_t k = 0; k < laterals.size(); ++k) {
    Value part = laterals[k];
    if (k < 3) part = conv(b, part, fmt::format("{}.fpn_convs.{}", name, k), channels, 3);
    parts.push_back(resize_to(b, part, b.grid(laterals[0])));
  }
  const Value fused = conv(b, b.concat_channels(parts), name + ".fpn_bottleneck", channels, 3);
  b.output("logits", class_scores(b, fused, name, config.head_dropout, classes));
}

Graph auxiliary_head(const Grid& map, const UperHeadConfig& config, int classes, int level) {
  const std::string name = "auxiliary_head";
  Builder b;
  b.set_level(level);
  Value x = b.input("backbone.f3", map);
  x = conv(b, x, name + ".convs.0", config.auxiliary_channels, 3);
  b.output("auxiliary", class_scores(b, x, name, config.head_dropout, classes));
  return std::move(b).finish();
}

std::map<std::string, std::string> segmentation_classes(const TensorShapes& shapes) {
  const Shape* weight = shapes("decode_head.conv_seg.weight");
  if (weight == nullptr || weight->rank() != 4) return {};
  return {{"classes", fmt::format("{}", (*weight)[0])}};
}

}  // namespace vig
