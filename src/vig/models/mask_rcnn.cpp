#include "vig/models/mask_rcnn.h"

#include "vig/base/error.h"
#include "vig/models/blocks.h"

namespace vig {
namespace {

constexpr int kMaxConvs = 64;
constexpr int kMaxSide = 256;
constexpr size_t kMaxRatios = 16;
constexpr Init kProposalInit = normal_init(0.01f);
constexpr Init kClassInit = normal_init(0.01f);
constexpr Init kBoxInit = normal_init(0.001f);

// With a bias and nothing behind it, as all convolutions of the neck.
Value pyramid_conv(Builder& b, Value x, const std::string& name, int channels, int kernel) {
  const int64_t area = int64_t{kernel} * kernel;
  const Init init = xavier_uniform(area * b.grid(x).channels, area * channels, 1);
  return b.conv(x, name + ".conv", channels, {.kernel = kernel, .padding = kernel / 2}, init);
}

}  // namespace

void MaskRcnnHeadConfig::visit(FieldVisitor& visitor) {
  visitor.visit("fpn_channels", fpn_channels);
  visitor.visit("fc_channels", fc_channels);
  visitor.visit("mask_channels", mask_channels);
  visitor.visit("mask_convs", mask_convs, 0);
  visitor.visit("anchor_scale", detector.anchor_scale);
  visitor.visit("anchor_ratios", detector.anchor_ratios, 1, kMaxRatios);
  visitor.visit("proposal_std", detector.proposal_std);
  visitor.visit("box_std", detector.box_std);
  visitor.visit("roi_side", detector.roi_side);
  visitor.visit("mask_side", detector.mask_side);
  visitor.visit("finest_scale", detector.finest_scale);
  visitor.visit("proposals_per_level", detector.proposals_per_level);
  visitor.visit("proposals", detector.proposals);
  visitor.visit("proposal_overlap", detector.proposal_overlap);
  visitor.visit("min_score", detector.min_score);
  visitor.visit("box_overlap", detector.box_overlap);
  visitor.visit("detections", detector.detections);
  visitor.visit("training_proposals_per_level", detector.training_proposals_per_level);
}

std::vector<Value> feature_pyramid(Builder& b, const Pyramid& maps, int channels) {
  Pyramid sums;
  for (size_t k = maps.size(); k-- > 0;) {
    sums[k] = pyramid_conv(b, maps[k], fmt::format("neck.lateral_convs.{}", k), channels, 1);
    if (k + 1 == maps.size()) continue;
    const Grid grid = b.grid(sums[k]);
    sums[k] = b.add(sums[k], b.resize(sums[k + 1], grid.height, grid.width, Resampling::kNearest));
  }
  std::vector<Value> levels;
  for (size_t k = 0; k < sums.size(); ++k) {
    levels.push_back(pyramid_conv(b, sums[k], fmt::format("neck.fpn_convs.{}", k), channels, 3));
  }
  levels.push_back(b.max_pool(levels.back(), {.kernel = 1, .stride = 2}));
  for (size_t k = 0; k < levels.size(); ++k) b.named(levels[k], fmt::format("neck.{}", k));
  return levels;
}

void proposal_head(Builder& b, const std::vector<Value>& levels, const MaskRcnnHeadConfig& config) {
  const std::string name = "rpn_head.";
  const int anchors = static_cast<int>(config.detector.anchor_ratios.size());
  for (int k = 0; k < config.detector.roi_levels; ++k) {
    b.output(fmt::format("p{}", k + 2), levels[static_cast<size_t>(k)]);
  }
  for (size_t k = 0; k < levels.size(); ++k) {
    Value x = b.conv(levels[k], name + "rpn_conv", config.fpn_channels, {.kernel = 3, .padding = 1},
                     kProposalInit);
    x = b.activation(x, Elementwise::kRelu);
    const Value scores = b.conv(x, name + "rpn_cls", anchors, {}, kProposalInit);
    const Value deltas = b.conv(x, name + "rpn_reg", 4 * anchors, {}, kProposalInit);
    b.output(fmt::format("rpn_cls{}", k), b.named(scores, fmt::format("rpn_cls.{}", k)));
    b.output(fmt::format("rpn_reg{}", k), b.named(deltas, fmt::format("rpn_reg.{}", k)));
  }
}

void MaskRcnnHeadConfig::check() const {
  if (mask_convs > kMaxConvs || detector.roi_side > kMaxSide || detector.mask_side > kMaxSide) {
    fail_usage(
        "[mask_rcnn] mask_convs {}, roi_side {} and mask_side {}, expected at most {}, {} and {}",
        mask_convs, detector.roi_side, detector.mask_side, kMaxConvs, kMaxSide, kMaxSide);
  }
  if (!(detector.anchor_scale > 0 && detector.finest_scale > 0)) {
    fail_usage("[mask_rcnn] anchor_scale {} and finest_scale {}, expected numbers above 0",
               detector.anchor_scale, detector.finest_scale);
  }
}

Graph box_head(const MaskRcnnHeadConfig& config, int classes, int level) {
  const std::string name = "roi_head.bbox_head.";
  const int side = config.detector.roi_side, width = config.fc_channels;
  Builder b;
  b.set_level(level);
  Value x = b.input("box_features", {side, side, config.fpn_channels});
  const Init first = xavier_uniform(b.grid(x).elements(), width, 1);
  x = b.linear_of_grid(x, name + "shared_fcs.0", width, first);
  x = b.activation(x, Elementwise::kRelu);
  x = b.linear(x, name + "shared_fcs.1", width, true, xavier_uniform(width, width, 1));
  x = b.activation(x, Elementwise::kRelu);
  b.begin_head();
  b.output("box_cls", b.linear(x, name + "fc_cls", classes + 1, true, kClassInit));
  b.output("box_reg", b.linear(x, name + "fc_reg", 4 * classes, true, kBoxInit));
  return std::move(b).finish();
}

Graph mask_head(const MaskRcnnHeadConfig& config, int classes, int level) {
  const std::string name = "roi_head.mask_head.";
  const int side = config.detector.mask_side, width = config.mask_channels;
  Builder b;
  b.set_level(level);
  Value x = b.input("mask_features", {side, side, config.fpn_channels});
  for (int i = 0; i < config.mask_convs; ++i) {
    x = b.conv(x, fmt::format("{}convs.{}.conv", name, i), width, {.kernel = 3, .padding = 1},
               kaiming_normal(9 * int64_t{width}));
    x = b.activation(x, Elementwise::kRelu);
  }
  // The rows of this weight are its inputs, and the fan follows the rows.
  const Init doubling = kaiming_normal(4 * int64_t{b.grid(x).channels});
  x = b.upsample_conv(x, name + "upsample", width, doubling);
  x = b.activation(x, Elementwise::kRelu);
  b.begin_head();
  b.output("mask_logits", b.conv(x, name + "conv_logits", classes, {}, kaiming_normal(classes)));
  return std::move(b).finish();
}

std::map<std::string, std::string> detection_classes(const TensorShapes& shapes) {
  const Shape* weight = shapes("roi_head.bbox_head.fc_cls.weight");
  if (weight == nullptr || weight->rank() != 2 || (*weight)[0] < 2) return {};
  return {{"classes", fmt::format("{}", (*weight)[0] - 1)}};  // without the background
}

}  // namespace vig
