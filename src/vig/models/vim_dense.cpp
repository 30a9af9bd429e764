// Vim for segmentation: UperNet on four layers of Vim, by the released segmentation code.
//
// d embedding width, M tokens row by row, without a class token; r the residual stream.
//   r = tokens + position;  for each layer: r = rot(r), h = mixer(norm(r)), r += h
//   f1 = up(gelu(bn(up(a))));  f2 = up(b);  f3 = c;  f4 = max pool(d)
// up is a transposed convolution that doubles the grid. The maps a to d are of four layers: what
// their mixers put out, h, in the tiny network; in the small one r as the next layer sees it, and
// of the last layer r. The small network alone rotates the stream, and its mixers add their two
// directions instead of halving the sum. The released code rotates r and h apart before it adds
// them: the same.
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/dense_recipes.h"
#include "vig/models/family.h"
#include "vig/models/scan_blocks.h"
#include "vig/models/upernet.h"
#include "vig/models/vim_blocks.h"

namespace vig {
namespace {

struct VimPyramid : VimBackboneConfig {
  std::vector<int> feature_layers = {5, 11, 17, 23};
  bool stream_features = false;  // maps are the residual stream instead of what mixers put out
  bool rotary = false;
  bool halved = true;  // the sum of both directions

  void visit(FieldVisitor& visitor) {
    VimBackboneConfig::visit(visitor);
    visitor.visit("feature_layers", feature_layers, 0);
    visitor.visit("stream_features", stream_features);
    visitor.visit("rotary", rotary);
    visitor.visit("halved", halved);
  }
  int64_t all_blocks() const { return depth; }
  int third_width() const { return embed_dim; }
  void check(const Grid& image, const BackboneUse& use) const;
  Pyramid maps(Builder& b, Value image, const BackboneUse& use) const;
  std::map<std::string, std::string> shown_by(const TensorShapes& shapes) const {
    auto fields = image_size_shown_by(shapes, "backbone.pos_embed", 0, patch_size, stride);
    if (shapes("backbone.pos_embed") != nullptr) {
      fields["rotary"] = shapes("backbone.rope.freqs_cos") != nullptr ? "true" : "false";
    }
    return fields;
  }
  // Layers above the last that a map is made of.
  bool leaves_out(std::string_view tensor) const {
    constexpr std::string_view kBegin = "backbone.layers.";
    if (!tensor.starts_with(kBegin) || feature_layers.empty()) return false;
    tensor.remove_prefix(kBegin.size());
    int number = 0;
    std::from_chars(tensor.data(), tensor.data() + tensor.size(), number);
    return number < depth && number > feature_layers.back();
  }

 private:
  std::array<Value, 4> features(Builder& b, Value x, const BackboneUse& use, int side) const;
};

void VimPyramid::check(const Grid& image, const BackboneUse& use) const {
  check_width("vim", "expand", expand, embed_dim);
  if (use.image_size < patch_size) {
    fail_usage("[vim] image_size={}, expected at least patch_size={}", use.image_size, patch_size);
  }
  if (image.height < patch_size + stride || image.width < patch_size + stride) {
    fail_usage("[vim] an image of {}x{}, expected at least 2 x 2 patches of {}", image.height,
               image.width, patch_size);
  }
  const bool rising = std::ranges::is_sorted(feature_layers, std::less_equal<int>());
  if (feature_layers.size() != 4 || !rising || feature_layers.back() >= depth) {
    fail_usage("[vim] feature_layers={}, expected 4 rising ones of a depth of {}",
               fmt::join(feature_layers, ","), depth);
  }
  if (rotary && embed_dim % 4 != 0) {
    fail_usage("[vim] rotary=true with embed_dim={}, expected a multiple of 4", embed_dim);
  }
}

std::array<Value, 4> VimPyramid::features(Builder& b, Value x, const BackboneUse& use,
                                          int side) const {
  std::array<Value, 4> features;
  size_t next = 0;
  const Builder::RotaryTables tables = rotary_tables("backbone.rope", side);
  for (int i = 0; next < features.size(); ++i) {
    const std::string name = fmt::format("backbone.layers.{}", i);
    if (i < depth) {
      b.next_level();
      if (rotary) x = b.rotary(x, tables, {side, side});
      b.named(x, name + ".residual");
    }
    // The stream after layer i - 1.
    if (stream_features && i == feature_layers[next] + 1) features[next++] = x;
    if (next == features.size()) break;
    Value h = b.rms_norm(x, name + ".norm", norm_eps);
    h = b.named(vim_mixer(b, h, name + ".mixer.", *this, halved ? 0.5f : 1.0f), name + ".hidden");
    if (!stream_features && i == feature_layers[next]) features[next++] = h;
    if (next == features.size()) break;
    x = b.residual(x, h, drop_rate(use.drop_path, i, depth));
  }
  return features;
}

Pyramid VimPyramid::maps(Builder& b, Value image, const BackboneUse& use) const {
  check(b.grid(image), use);
  const int side = window_count(use.image_size, patch_size, stride, 0);
  Value x = b.named(vim_patches(b, image, *this, "backbone."), "backbone.patch_embed");
  x = b.add_position(x, "backbone.pos_embed", side, side, kVimInit);
  const std::array<Value, 4> from = features(b, x, use, side);
  b.set_level(head_level(*this));
  const auto up = [&](Value map, const std::string& name) {
    return b.upsample_conv(map, name, embed_dim, fan_in_uniform(4 * int64_t{embed_dim}),
                           fan_in_uniform(4 * int64_t{embed_dim}));
  };
  x = b.named(up(from[0], "backbone.fpn1.0"), "backbone.fpn1.0");
  x = b.named(b.batch_norm(x, "backbone.fpn1.1"), "backbone.fpn1.1");
  x = b.activation(x, Elementwise::kGelu);
  const Pyramid maps = {up(x, "backbone.fpn1.3"), up(from[1], "backbone.fpn2.0"), from[2],
                        b.max_pool(from[3], {2, 2, 0})};
  for (size_t k = 0; k < maps.size(); ++k) {
    b.named(maps[k], fmt::format("backbone.f{}", k + 1));
  }
  return maps;
}

using Segmenter = UperNetConfig<VimPyramid>;

// ---- the models ---------------------------------------------------------------------------

Segmenter variant(int embed_dim, bool small) {
  Segmenter config;
  config.image_size = 512;
  config.drop_path = 0.1f;
  config.backbone.embed_dim = embed_dim;
  config.backbone.stream_features = config.backbone.rotary = small;
  config.backbone.halved = !small;
  config.head.head_channels = embed_dim;
  return config;
}

Segmenter miniature(bool small) {
  Segmenter config = variant(16, small);
  config.classes = 5;
  config.image_size = 64;
  config.backbone.depth = 4;
  config.backbone.d_state = 4;
  config.backbone.feature_layers = {0, 1, 2, 3};
  config.head.head_channels = 12;
  config.head.auxiliary_channels = 8;
  return config;
}

}  // namespace

Family vim_upernet_family() {
  // Windows have the size that the network was made for, whatever the size of the image.
  Recipe recipe = segmentation_recipe(512, 341), small = segmentation_recipe(64, 42);
  recipe.multiple = small.multiple = 1;
  return {.name = "vim_upernet",
          .base = "vim_t_upernet",
          .models =
              {
                  {"vim_t_upernet", variant(192, false), recipe, "segmentation, tiny"},
                  {"vim_s_upernet", variant(384, true), recipe, "segmentation, small"},
                  {"test_vim_upernet", miniature(false), small, "miniature for tests"},
                  {"test_vim_rotary_upernet", miniature(true), small, "miniature for tests"},
              },
          // Stored and read by nothing.
          .buffers = {".num_batches_tracked", "backbone.norm_f.weight"},
          .argument_fields = {{"out_indices", "feature_layers"},
                              {"use_residual_as_feature", "stream_features"},
                              {"if_rope", "rotary"},
                              {"if_divide_out", "halved"},
                              {"channels", "head_channels"},
                              {"aux_channels", "auxiliary_channels"},
                              {"drop_path_rate", "drop_path"}},
          .fixed_arguments = {{"rms_norm", "true"},
                              {"residual_in_fp32", ""},
                              {"fused_add_norm", ""},
                              {"if_abs_pos_embed", "true"},
                              {"bimamba_type", "v2"},
                              {"final_pool_type", ""},
                              {"pt_hw_seq_len", "14"},
                              {"if_bidirectional", "false"},
                              {"if_cls_token", ""}}};
}

}  // namespace vig
