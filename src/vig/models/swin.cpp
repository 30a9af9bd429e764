// Swin: Hierarchical Vision Transformer using Shifted Windows.
//
// Stages of c channels, each but the first behind a merge of 2 x 2 neighbours. In window attention
// every second block shifts its windows by half a window.
// x += attn(norm1(x));  x += mlp(norm2(x));  head(mean(norm(x))).
// Parameter names are those of the released checkpoints.
//
// A window is never larger than the grid of its stage at image_size x image_width, which the tables
// of positions belong to. Other images keep these windows: grids that they do not fill are
// padded, as timm does, and so is an odd grid before a merge.
//
// As a backbone of dense prediction, by the names of the released segmentation code: what the
// stages put out, each behind a norm of its own.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/dense_recipes.h"
#include "vig/models/family.h"
#include "vig/models/upernet.h"

namespace vig {
namespace {

constexpr Init kInit = truncated_normal_init(0.02f);
constexpr size_t kMaxStages = 8;

struct SwinBackboneConfig {
  int image_width = 0;  // beside image_size; 0: square
  int patch_size = 4;
  int embed_dim = 96;  // of the first stage; the next have twice as many each
  std::vector<int> depths = {2, 2, 6, 2};
  std::vector<int> heads = {3, 6, 12, 24};
  int window_size = 7;
  int mlp_ratio = 4;
  float ln_eps = 1e-5f;

  void visit(FieldVisitor& visitor) {
    visitor.visit("image_width", image_width, 0);
    visitor.visit("patch_size", patch_size);
    visitor.visit("embed_dim", embed_dim);
    visitor.visit("depths", depths);
    visitor.visit("heads", heads);
    visitor.visit("window_size", window_size);
    visitor.visit("mlp_ratio", mlp_ratio);
    visitor.visit("ln_eps", ln_eps);
  }
  int64_t all_blocks() const { return sum_of(depths); }
  void check(int image_size) const;
};

// The stages. Every name begins with `prefix`.
class Stages {
 public:
  Stages(Builder& b, const SwinBackboneConfig& config, float drop_path, std::string prefix = "")
      : b_(b), config_(config), drop_path_(drop_path), prefix_(std::move(prefix)) {}

  // What each of them puts out, of images whose windows are those of `image_size`.
  std::vector<Value> build(Value image, int image_size) {
    config_.check(image_size);
    const int patch = config_.patch_size;
    // The grid that the weights were made for.
    Grid made{image_size / patch,
              (config_.image_width > 0 ? config_.image_width : image_size) / patch, 0};
    const std::string embed = prefix_ + "patch_embed";
    Value x =
        b_.conv(image, embed + ".proj", config_.embed_dim, {.kernel = patch, .stride = patch});
    x = b_.named(b_.layer_norm(x, embed + ".norm", config_.ln_eps), embed);
    std::vector<Value> stages;
    for (size_t s = 0; s < config_.depths.size(); ++s) {
      if (s > 0) {
        x = merge(x, s);
        made = {(made.height + 1) / 2, (made.width + 1) / 2, 0};
      }
      WindowAttentionOp op{config_.heads[s], std::min(config_.window_size, made.height),
                           std::min(config_.window_size, made.width), false};
      for (int i = 0; i < config_.depths[s]; ++i) {
        op.shifted = i % 2 == 1;
        x = block(x, fmt::format("{}layers.{}.blocks.{}", prefix_, s, i), op);
      }
      stages.push_back(x);
      if (s + 1 == config_.depths.size()) b_.named(x, layer(s));
    }
    return stages;
  }

 private:
  std::string layer(size_t s) const { return fmt::format("{}layers.{}", prefix_, s); }

  // In front of stage s. The released code counts it to the stage before.
  Value merge(Value x, size_t s) {
    const std::string name = layer(s - 1);
    x = patch_merging(b_, x, name + ".downsample", 2 * b_.grid(x).channels, config_.ln_eps, kInit);
    return b_.named(x, name);
  }

  Value block(Value x, const std::string& name, const WindowAttentionOp& op) {
    const int c = b_.grid(x).channels;
    const double rate = drop_rate(drop_path_, number_++, static_cast<int>(config_.all_blocks()));
    b_.next_level();
    Value y = b_.layer_norm(x, name + ".norm1", config_.ln_eps);
    const std::string attn = name + ".attn";
    y = b_.linear(y, attn + ".qkv", 3 * c, true, kInit);
    y = b_.window_attention(y, attn + ".relative_position_bias_table", attn + ".qkv.bias", op,
                            kInit);
    y = b_.named(b_.linear(y, attn + ".proj", c, true, kInit), attn);
    x = b_.residual(x, y, rate);
    y = b_.layer_norm(x, name + ".norm2", config_.ln_eps);
    y = gelu_mlp(b_, y, name + ".mlp", config_.mlp_ratio, kInit);
    return b_.named(b_.residual(x, y, rate), name);
  }

  Builder& b_;
  const SwinBackboneConfig& config_;
  float drop_path_;
  std::string prefix_;
  int number_ = 0;  // of blocks so far
};

void SwinBackboneConfig::check(int image_size) const {
  if (depths.empty() || depths.size() > kMaxStages || depths.size() != heads.size()) {
    fail_usage(
        "[swin] {} depths and {} heads, expected the same number of stages, at most {}; give "
        "both by --set FIELD=VALUE",
        depths.size(), heads.size(), kMaxStages);
  }
  for (size_t s = 0; s < heads.size(); ++s) {
    if ((int64_t{embed_dim} << s) % heads[s] != 0) {
      fail_usage("[swin] stage {} has {} channels, expected a multiple of its {} heads", s,
                 int64_t{embed_dim} << s, heads[s]);
    }
  }
  if (image_size < patch_size || (image_width > 0 && image_width < patch_size)) {
    fail_usage("[swin] image_size {} (image_width {}) is too small for patch_size {}", image_size,
               image_width, patch_size);
  }
}

struct SwinConfig : ConfigOf<SwinConfig>, SwinBackboneConfig {
  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    SwinBackboneConfig::visit(visitor);
  }
  int64_t blocks() const override { return all_blocks(); }

  Graph build(int height, int width) const override {
    Builder b;
    const std::vector<Value> stages =
        Stages(b, *this, drop_path).build(b.input("image", {height, width, 3}), image_size);
    for (size_t s = 0; s < stages.size(); ++s) b.output(fmt::format("stage{}", s), stages[s]);
    b.next_level();
    const Value x = b.named(b.layer_norm(stages.back(), "norm", ln_eps), "norm");
    classifier_outputs(b, x, "head", classes, kInit);
    return std::move(b).finish();
  }

  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    auto fields = classes_shown_by(shapes, "head.weight");
    // Published models have a last grid of one window.
    const Shape* table = shapes("layers.0.blocks.0.attn.relative_position_bias_table");
    if (table == nullptr || table->rank() != 2 || depths.size() > kMaxStages) return fields;
    for (int window = 1; window <= 64; ++window) {
      if ((2 * window - 1) * (2 * window - 1) != (*table)[0]) continue;
      fields["window_size"] = fmt::format("{}", window);
      fields["image_size"] = fmt::format("{}", int64_t{window} * patch_size << (depths.size() - 1));
    }
    return fields;
  }
};

struct SwinPyramid : SwinBackboneConfig {
  void check_stages() const {
    if (depths.size() == 4 && patch_size == 4) return;
    fail_usage("[swin] {} stages and patch_size {}, expected 4 and 4 for a pyramid", depths.size(),
               patch_size);
  }
  int third_width() const { return 4 * embed_dim; }
  Pyramid maps(Builder& b, Value image, const BackboneUse& use) const {
    check_stages();
    const std::vector<Value> stages =
        Stages(b, *this, use.drop_path, "backbone.").build(image, use.image_size);
    b.next_level();
    Pyramid maps;
    for (size_t k = 0; k < maps.size(); ++k) {
      maps[k] = b.layer_norm(stages[k], fmt::format("backbone.norm{}", k), ln_eps);
      b.named(maps[k], fmt::format("backbone.f{}", k + 1));
    }
    return maps;
  }
  std::map<std::string, std::string> shown_by(const TensorShapes&) const { return {}; }
};
using Segmenter = UperNetConfig<SwinPyramid>;

// ---- the models ---------------------------------------------------------------------------

SwinConfig variant(int embed_dim, int heads, int third_depth, float drop_path) {
  SwinConfig config;
  config.embed_dim = embed_dim;
  config.depths = {2, 2, third_depth, 2};
  config.heads = {heads, 2 * heads, 4 * heads, 8 * heads};
  config.drop_path = drop_path;
  return config;
}

SwinConfig miniature() {
  SwinConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.embed_dim = 16;
  config.depths = {2, 2};
  config.heads = {2, 4};
  config.window_size = 5;
  return config;
}

Segmenter segmenter(const SwinConfig& config) {
  Segmenter segmenter;
  static_cast<SwinBackboneConfig&>(segmenter.backbone) = config;
  segmenter.drop_path = config.drop_path;
  return segmenter;
}

// ---- what others publish ------------------------------------------------------------------

constexpr NameRule kTorchvisionNames[] = {
    {"^features.0.0", "patch_embed.proj"},
    {"^features.0.2", "patch_embed.norm"},
    {"^features.1", "layers.0.blocks"},
    {"^features.2", "layers.0.downsample"},
    {"^features.3", "layers.1.blocks"},
    {"^features.4", "layers.1.downsample"},
    {"^features.5", "layers.2.blocks"},
    {"^features.6", "layers.2.downsample"},
    {"^features.7", "layers.3.blocks"},
    {"mlp.0", "mlp.fc1"},
    {"mlp.3", "mlp.fc2"},
};

// A merge belongs to the stage behind it.
constexpr NameRule kTimmNames[] = {
    {"^layers.#.downsample", "layers.#1-1.downsample"},
    {"^head.fc", "head"},
};

}  // namespace

Family swin_family() {
  const Recipe imagenet;
  return {
      .name = "swin",
      .base = "swin_t",
      .models =
          {
              {"swin_t", variant(96, 3, 6, 0.2f), imagenet, "tiny", "28M", "4.6G"},
              {"swin_s", variant(96, 3, 18, 0.3f), imagenet, "small", "50M", "8.7G"},
              {"swin_b", variant(128, 4, 18, 0.5f), imagenet, "base", "88M", "15.4G"},
              {"test_swin", miniature(), imagenet.with_size(64), "miniature for tests"},
          },
      .imported =
          {
              {"swin_l", variant(192, 6, 18, 0.5f), imagenet, "large"},
          },
      .buffers = {".relative_position_index", ".attn_mask"},
      .publisher = "the authors",
      .names = {{kTorchvision, "features.1.0.attn.relative_position_bias_table", kTorchvisionNames},
                {kTimm, "head.fc.weight", kTimmNames}},
      .recipes = {{"swin_t", kTorchvision, "swin_t-704ceda3", bicubic_crop(232, 224)},
                  {"swin_s", kTorchvision, "swin_s-5e29d889", bicubic_crop(246, 224)},
                  {"swin_b", kTorchvision, "swin_b-68c6b09e", bicubic_crop(238, 224)},
                  {"swin_t", kTimm, "", bicubic_crop(248, 224)},
                  {"swin_s", kTimm, "", bicubic_crop(248, 224)},
                  {"swin_b", kTimm, "", bicubic_crop(248, 224)},
                  {"swin_b", kTimm, "", bicubic_crop(384, 384)},
                  {"swin_l", kTimm, "", bicubic_crop(248, 224)},
                  {"swin_l", kTimm, "", bicubic_crop(384, 384)}},
      .timm_networks = {"swin_"},
      .fixed_arguments = {{"stage_windows", ""}},
      .inner_activations = {".rel_pos_bias", ".attn_mask", ".attn_windows"},
      .channels_last = true};
}

Family swin_upernet_family() {
  return {.name = "swin_upernet",
          .base = "swin_t_upernet",
          .models = {{"swin_t_upernet", segmenter(variant(96, 3, 6, 0.2f)),
                      segmentation_recipe(512, 0), "segmentation, tiny"}},
          .buffers = {".relative_position_index", ".attn_mask", ".num_batches_tracked"}};
}

}  // namespace vig
