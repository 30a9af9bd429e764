// The plain ViG for segmentation and detection: ViT-Adapter (models/adapter.h) under UperNet and
// Mask R-CNN, as the ViG paper has it.
#include "vig/models/dense_recipes.h"
#include "vig/models/dense_variants.h"
#include "vig/models/family.h"
#include "vig/models/vig_blocks.h"

namespace vig {
namespace {

struct PlainVig : VigBackboneConfig {
  static constexpr const char* kBlocks = "backbone.blocks.";

  PlainVig() = default;
  explicit PlainVig(const VigBackboneConfig& config) : VigBackboneConfig(config) {}
  void check(const BackboneUse&) const { VigBackboneConfig::check(); }
  Value tokens(Builder& b, Value image, const BackboneUse& use) const {
    return vig_tokens(b, image, *this, use.image_size, kBackbone);
  }
  Value block(Builder& b, Value x, int number, const BackboneUse& use) const {
    return vig_block(b, x, number, *this, use.drop_path, kBackbone);
  }
  std::map<std::string, std::string> shown_by(const TensorShapes& shapes) const {
    return image_size_shown_by(shapes, "backbone.pos_embed", 0, patch_size);
  }
};

using Segmenter = AdapterSegmenter<PlainVig>;
using Detector = AdapterDetector<PlainVig>;

template <class Config>
Config tiny() {
  return adapter_variant<Config>(PlainVig(VigBackboneConfig::tiny()), DenseSize::kTiny);
}
template <class Config>
Config small() {
  return adapter_variant<Config>(PlainVig(VigBackboneConfig::small()), DenseSize::kSmall);
}
template <class Config>
Config base() {
  return adapter_variant<Config>(PlainVig(VigBackboneConfig::base()), DenseSize::kBase);
}

PlainVig miniature() {
  PlainVig plain;
  plain.embed_dim = 32;
  plain.depth = 4;
  plain.heads = 2;
  return plain;
}

Segmenter small_segmenter() {
  Segmenter config = miniature_segmenter(miniature());
  config.backbone.silu_after_dwconv = true;
  config.backbone.silu_before_o_proj = true;
  return config;
}

}  // namespace

Family vig_upernet_family() {
  const Recipe recipe = segmentation_recipe(512, 341);
  return {.name = "vig_upernet",
          .base = "vig_s_upernet",
          .models =
              {
                  {"vig_t_upernet", tiny<Segmenter>(), recipe, "segmentation, tiny"},
                  {"vig_s_upernet", small<Segmenter>(), recipe, "segmentation, small"},
                  {"vig_b_upernet", base<Segmenter>(), recipe, "segmentation, base"},
                  {"test_vig_upernet", small_segmenter(), segmentation_recipe(64, 42),
                   "miniature for tests"},
              },
          .buffers = {".num_batches_tracked"},
          .argument_fields = segmenter_arguments()};
}

Family vig_maskrcnn_family() {
  const Recipe recipe = detection_recipe();
  return {.name = "vig_maskrcnn",
          .base = "vig_s_maskrcnn",
          .models =
              {
                  {"vig_t_maskrcnn", tiny<Detector>(), recipe, "detection, tiny"},
                  {"vig_s_maskrcnn", small<Detector>(), recipe, "detection, small"},
                  {"vig_b_maskrcnn", base<Detector>(), recipe, "detection, base"},
                  {"test_vig_maskrcnn", miniature_detector(miniature()), detection_recipe(64, 96),
                   "miniature for tests"},
              },
          .buffers = {".num_batches_tracked"},
          .argument_fields = detector_arguments(),
          .fixed_arguments = {{"mask_thr", "0.5"}}};
}

}  // namespace vig
