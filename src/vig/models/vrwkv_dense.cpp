// Vision-RWKV for segmentation and detection: ViT-Adapter (models/adapter.h) under UperNet and Mask
// R-CNN. Its decays are divided by the number of tokens of the image at hand, so that they are
// slower than in the classifier. All sizes have layer scale here, the tiny one, too.
#include "vig/models/dense_recipes.h"
#include "vig/models/dense_variants.h"
#include "vig/models/family.h"
#include "vig/models/vrwkv_blocks.h"

namespace vig {
namespace {

struct PlainVrwkv : VrwkvBackboneConfig {
  static constexpr const char* kBlocks = "backbone.layers.";

  void check(const BackboneUse& use) const {
    VrwkvBackboneConfig::check(use.image_size, use.image_size);
  }
  Value tokens(Builder& b, Value image, const BackboneUse& use) const {
    return vrwkv_tokens(b, image, *this, {use.image_size, use.image_size}, kBackbone);
  }
  Value block(Builder& b, Value x, int number, const BackboneUse& use) const {
    return vrwkv_block(b, x, number, *this, use.drop_path, kBackbone);
  }
  std::map<std::string, std::string> shown_by(const TensorShapes& shapes) const {
    auto fields = image_size_shown_by(shapes, "backbone.pos_embed", 0, patch_size);
    if (shapes("backbone.layers.0.ln1.weight") != nullptr) {
      const bool scaled = shapes("backbone.layers.0.gamma1") != nullptr;
      fields["layer_scale"] = scaled ? "true" : "false";
    }
    return fields;
  }
};

using Segmenter = AdapterSegmenter<PlainVrwkv>;
using Detector = AdapterDetector<PlainVrwkv>;

PlainVrwkv plain(int embed_dim, bool post_norm, float gamma) {
  PlainVrwkv plain;
  plain.embed_dim = embed_dim;
  plain.post_norm = post_norm;
  plain.layer_scale = true;
  plain.gamma = gamma;
  return plain;
}
template <class Config>
Config tiny() {
  return adapter_variant<Config>(plain(192, false, 1.0f), DenseSize::kTiny);
}
template <class Config>
Config small() {
  return adapter_variant<Config>(plain(384, true, 1e-5f), DenseSize::kSmall);
}
template <class Config>
Config base() {
  return adapter_variant<Config>(plain(768, true, 1e-5f), DenseSize::kBase);
}

PlainVrwkv miniature(bool post_norm) {
  PlainVrwkv made = plain(16, post_norm, 1.0f);
  made.depth = 4;
  return made;
}

std::map<std::string, std::map<std::string, std::string>> versions() {
  return {{"", {{"released_kernel", "false"}}}, {"kernel", {{"released_kernel", "true"}}}};
}
// Further arguments of the public code.
std::map<std::string, std::string> arguments() {
  return {{"embed_dims", "embed_dim"}, {"init_values", "gamma"}};
}
std::map<std::string, std::string> fixed_arguments() {
  return {{"channel_gamma", "0.25"}, {"shift_pixel", "1"}, {"with_cp", ""}, {"mask_thr", "0.5"}};
}

}  // namespace

Family vrwkv_upernet_family() {
  const Recipe recipe = segmentation_recipe(512, 341);
  return {.name = "vrwkv_upernet",
          .base = "vrwkv_t_upernet",
          .models =
              {
                  {"vrwkv_t_upernet", tiny<Segmenter>(), recipe, "segmentation, tiny"},
                  {"vrwkv_s_upernet", small<Segmenter>(), recipe, "segmentation, small"},
                  {"vrwkv_b_upernet", base<Segmenter>(), recipe, "segmentation, base"},
                  {"test_vrwkv_upernet", miniature_segmenter(miniature(true)),
                   segmentation_recipe(64, 42), "miniature for tests"},
              },
          .buffers = {".num_batches_tracked"},
          .argument_fields = segmenter_arguments(arguments()),
          .fixed_arguments = fixed_arguments(),
          .versions = versions()};
}

Family vrwkv_maskrcnn_family() {
  const Recipe recipe = detection_recipe();
  return {.name = "vrwkv_maskrcnn",
          .base = "vrwkv_t_maskrcnn",
          .models =
              {
                  {"vrwkv_t_maskrcnn", tiny<Detector>(), recipe, "detection, tiny"},
                  {"vrwkv_s_maskrcnn", small<Detector>(), recipe, "detection, small"},
                  {"vrwkv_b_maskrcnn", base<Detector>(), recipe, "detection, base"},
                  {"test_vrwkv_maskrcnn", miniature_detector(miniature(false)),
                   detection_recipe(64, 96), "miniature for tests"},
              },
          .buffers = {".num_batches_tracked"},
          .argument_fields = detector_arguments(arguments()),
          .fixed_arguments = fixed_arguments(),
          .versions = versions()};
}

}  // namespace vig
