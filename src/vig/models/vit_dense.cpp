// ViT for segmentation and detection: ViT-Adapter (models/adapter.h) under UperNet and Mask R-CNN,
// with attention among all tokens or, in some blocks, in windows. Names are those of the released
// adapter. Its position table keeps the row of the class token, which nothing reads.
#include <fmt/ranges.h>

#include <algorithm>

#include "vig/base/error.h"
#include "vig/models/dense_recipes.h"
#include "vig/models/dense_variants.h"
#include "vig/models/family.h"
#include "vig/models/vit_blocks.h"

namespace vig {
namespace {

struct PlainVit : VitBackboneConfig {
  static constexpr const char* kBlocks = "backbone.blocks.";

  bool layer_scale = true;
  // The side of the windows of each block's attention, 0: among all tokens; or one for all blocks.
  std::vector<int> windows = {0};

  void visit(FieldVisitor& visitor) {
    VitBackboneConfig::visit(visitor);
    visitor.visit("layer_scale", layer_scale);
    visitor.visit("windows", windows, 0);
  }
  void check(const BackboneUse& use) const {
    VitBackboneConfig::check(use.image_size, use.image_size);
    constexpr int kMostWindow = 256;
    const bool sized = windows.size() == 1 || windows.size() == static_cast<size_t>(depth);
    if (!sized || *std::ranges::max_element(windows) > kMostWindow) {
      fail_usage("[vit] windows={}, expected one or {} of at most {} tokens",
                 fmt::join(windows, ","), depth, kMostWindow);
    }
  }
  Value tokens(Builder& b, Value image, const BackboneUse& use) const {
    const Value x = vit_patches(b, image, *this, kBackbone);
    const Grid grid = b.grid(x);
    const int side = use.image_size / patch_size;
    const AddPositionOp position{side, side, grid.height, grid.width, {{0, kNoSequenceRow}}};
    return b.add_position(x, "backbone.pos_embed", position, kVitInit);
  }
  Value block(Builder& b, Value x, int number, const BackboneUse& use) const {
    const int window = windows[windows.size() == 1 ? 0 : static_cast<size_t>(number)];
    return vit_block(b, x, {number, use.drop_path, window, layer_scale, kBackbone}, *this);
  }
  std::map<std::string, std::string> shown_by(const TensorShapes& shapes) const {
    auto fields = image_size_shown_by(shapes, "backbone.pos_embed", 1, patch_size);
    if (shapes("backbone.blocks.0.norm1.weight") != nullptr) {
      const bool scaled = shapes("backbone.blocks.0.gamma1") != nullptr;
      fields["layer_scale"] = scaled ? "true" : "false";
    }
    return fields;
  }
};

using Segmenter = AdapterSegmenter<PlainVit>;
using Detector = AdapterDetector<PlainVit>;

PlainVit plain(int embed_dim, int heads, bool windows) {
  PlainVit plain;
  plain.embed_dim = embed_dim;
  plain.heads = heads;
  // The last block of each interaction sees all tokens.
  if (windows) plain.windows = {14, 14, 0, 14, 14, 0, 14, 14, 0, 14, 14, 0};
  return plain;
}
template <class Config>
Config tiny(bool windows = false) {
  return adapter_variant<Config>(plain(192, 3, windows), DenseSize::kTiny);
}
template <class Config>
Config small(bool windows = false) {
  return adapter_variant<Config>(plain(384, 6, windows), DenseSize::kSmall);
}
template <class Config>
Config base(bool windows = false) {
  return adapter_variant<Config>(plain(768, 12, windows), DenseSize::kBase);
}

PlainVit miniature(std::vector<int> windows) {
  PlainVit plain;
  plain.embed_dim = 16;
  plain.depth = 4;
  plain.heads = 2;
  plain.windows = std::move(windows);
  return plain;
}

}  // namespace

Family vit_upernet_family() {
  const Recipe recipe = segmentation_recipe(512, 341);
  return {.name = "vit_upernet",
          .base = "vit_t_upernet",
          .models =
              {
                  {"vit_t_upernet", tiny<Segmenter>(), recipe, "segmentation, tiny"},
                  {"vit_s_upernet", small<Segmenter>(), recipe, "segmentation, small"},
                  {"vit_b_upernet", base<Segmenter>(), recipe, "segmentation, base"},
                  {"test_vit_upernet", miniature_segmenter(miniature({0})),
                   segmentation_recipe(64, 42), "miniature for tests"},
              },
          .buffers = {".num_batches_tracked"},
          .argument_fields = segmenter_arguments({{"pretrain_size", "image_size"}}),
          .fixed_arguments = {{"with_cp", ""}}};
}

Family vit_maskrcnn_family() {
  const Recipe recipe = detection_recipe();
  return {.name = "vit_maskrcnn",
          .base = "vit_t_maskrcnn",
          .models =
              {
                  {"vit_t_maskrcnn", tiny<Detector>(), recipe, "detection, tiny"},
                  {"vit_s_maskrcnn", small<Detector>(), recipe, "detection, small"},
                  {"vit_b_maskrcnn", base<Detector>(), recipe, "detection, base"},
                  {"vit_t_window_maskrcnn", tiny<Detector>(true), recipe,
                   "detection, tiny, mostly window attention"},
                  {"vit_s_window_maskrcnn", small<Detector>(true), recipe,
                   "detection, small, mostly window attention"},
                  {"vit_b_window_maskrcnn", base<Detector>(true), recipe,
                   "detection, base, mostly window attention"},
                  {"test_vit_maskrcnn", miniature_detector(miniature({3, 0, 4, 0})),
                   detection_recipe(64, 96), "miniature for tests"},
              },
          .buffers = {".num_batches_tracked"},
          .argument_fields = detector_arguments({{"pretrain_size", "image_size"}}),
          .fixed_arguments = {{"with_cp", ""}, {"mask_thr", "0.5"}}};
}

}  // namespace vig
