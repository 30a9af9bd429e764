// DeiT: Training data-efficient image transformers & distillation through attention (the models
// without distillation). They are Vision Transformers (An Image is Worth 16x16 Words), of which
// the larger ones are here, too.
//
// d embedding width, p patch size; a class token stands before the tokens of the patches.
// x = [class; patches] + position;  x += attn(norm1(x));  x += mlp(norm2(x));
// head(norm(x) of the class token). Parameter names are timm's, which are the released ones.
#include "vig/models/blocks.h"
#include "vig/models/family.h"
#include "vig/models/vit_blocks.h"

namespace vig {
namespace {

struct DeitConfig : ConfigOf<DeitConfig>, VitBackboneConfig {
  int image_width = 0;  // of the position table, beside image_size; 0: square

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("image_width", image_width, 0);
    VitBackboneConfig::visit(visitor);
  }
  int64_t blocks() const override { return depth; }
  Graph build(int height, int width) const override;

  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    std::map<std::string, std::string> fields = classes_shown_by(shapes, "head.weight");
    fields.merge(image_size_shown_by(shapes, "pos_embed", 1, patch_size));
    return fields;
  }
};

Graph DeitConfig::build(int height, int width) const {
  const int table_width = image_width > 0 ? image_width : image_size;
  check(image_size, table_width);
  Builder b;
  Value x = vit_patches(b, b.input("image", {height, width, 3}), *this);
  const Grid grid = b.grid(x);
  x = b.insert_rows(x, b.tokens("cls_token", 1, embed_dim, kVitInit), 0);
  const AddPositionOp position{
      image_size / patch_size, table_width / patch_size, grid.height, grid.width, {{0, 0}}};
  x = b.add_position(x, "pos_embed", position, kVitInit);
  for (int i = 0; i < depth; ++i) {
    x = vit_block(b, x, {.number = i, .drop_path = drop_path}, *this);
  }
  b.next_level();
  x = b.named(b.layer_norm(x, "norm", kVitNormEps), "norm");
  b.output("features", b.select_rows(x, 1, grid.height, grid.width));
  x = b.select_rows(x, 0, 1, 1);
  b.output("pooled", x);
  b.begin_head();
  b.output("logits", b.linear(x, "head", classes, true, kVitInit));
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

DeitConfig variant(int embed_dim, int heads) {
  DeitConfig config;
  config.embed_dim = embed_dim;
  config.heads = heads;
  config.drop_path = 0.1f;
  return config;
}

DeitConfig vit(int patch_size, int embed_dim, int depth, int heads) {
  DeitConfig config = variant(embed_dim, heads);
  config.patch_size = patch_size;
  config.depth = depth;
  return config;
}

DeitConfig miniature() {
  DeitConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.embed_dim = 48;
  config.depth = 2;
  config.heads = 3;
  return config;
}

// ---- what others publish ------------------------------------------------------------------

constexpr NameRule kTorchvisionNames[] = {
    {"^class_token", "cls_token"},
    {"^conv_proj", "patch_embed.proj"},
    {"^encoder.pos_embedding", "pos_embed"},
    {"^encoder.layers.encoder_layer_#", "blocks.#1"},
    {"ln_1", "norm1"},
    {"self_attention.in_proj_weight", "attn.qkv.weight"},
    {"self_attention.in_proj_bias", "attn.qkv.bias"},
    {"self_attention.out_proj", "attn.proj"},
    {"ln_2", "norm2"},
    {"mlp.0", "mlp.fc1"},
    {"mlp.3", "mlp.fc2"},
    {"mlp.linear_1", "mlp.fc1"},  // of older files
    {"mlp.linear_2", "mlp.fc2"},
    {"^encoder.ln", "norm"},
    {"^heads.head", "head"},
};

std::vector<PublishedRecipe> recipes() {
  std::vector<PublishedRecipe> all = {
      {"deit_b", kTorchvision, "vit_b_16-c867db91", bilinear_crop(256, 224)},
      {"deit_b", kTorchvision, "vit_b_16_swag-", bicubic_crop(384, 384)},
      {"deit_b", kTorchvision, "vit_b_16_lc_swag-", bicubic_crop(224, 224)},
      {"vit_b_32", kTorchvision, "vit_b_32-d86f8d99", bilinear_crop(256, 224)},
      {"vit_l_16", kTorchvision, "vit_l_16-852ce7e3", bilinear_crop(242, 224)},
      {"vit_l_16", kTorchvision, "vit_l_16_swag-", bicubic_crop(512, 512)},
      {"vit_l_16", kTorchvision, "vit_l_16_lc_swag-", bicubic_crop(224, 224)},
      {"vit_l_32", kTorchvision, "vit_l_32-c7638314", bilinear_crop(256, 224)},
      {"vit_h_14", kTorchvision, "vit_h_14_lc_swag-", bicubic_crop(224, 224)},
      {"vit_h_14", kTorchvision, "vit_h_14_swag-", bicubic_crop(518, 518)},
      {"deit_t", kTimm, "", bicubic_crop(256, 224)},
      {"deit_s", kTimm, "", bicubic_crop(256, 224)},
      {"deit_b", kTimm, "", bicubic_crop(256, 224)},
      // The same tensors as DeiT's, and other preprocessing.
      {"deit_t", kTimm, "vit_tiny_patch16_224", symmetric_crop(248, 224)},
      {"deit_t", kTimm, "vit_tiny_patch16_384", symmetric_crop(384, 384)},
      {"deit_s", kTimm, "vit_small_patch16_224", symmetric_crop(248, 224)},
      {"deit_s", kTimm, "vit_small_patch16_384", symmetric_crop(384, 384)},
      {"deit_b", kTimm, "vit_base_patch16_224", symmetric_crop(248, 224)},
      {"deit_b", kTimm, "vit_base_patch16_384", symmetric_crop(384, 384)}};
  for (std::string_view model : {"vit_s_32", "vit_b_32", "vit_b_8", "vit_l_16", "vit_l_32"}) {
    all.push_back({model, kTimm, "", symmetric_crop(248, 224)});
    all.push_back({model, kTimm, "", symmetric_crop(384, 384)});
  }
  return all;
}

}  // namespace

Family deit_family() {
  const Recipe imagenet, vit_recipe = symmetric_crop(248, 224);
  return {.name = "deit",
          .base = "deit_t",
          .models =
              {
                  {"deit_t", variant(192, 3), imagenet, "tiny; also ViT-Ti/16", "6M", "1.3G"},
                  {"deit_s", variant(384, 6), imagenet, "small; also ViT-S/16", "22M", "4.6G"},
                  {"deit_b", variant(768, 12), imagenet, "base; also ViT-B/16", "86M", "17.6G"},
                  {"test_deit", miniature(), imagenet.with_size(64), "miniature for tests"},
              },
          .imported =
              {
                  {"vit_s_32", vit(32, 384, 12, 6), vit_recipe, "ViT-S/32"},
                  {"vit_b_32", vit(32, 768, 12, 12), vit_recipe, "ViT-B/32"},
                  {"vit_b_8", vit(8, 768, 12, 12), vit_recipe, "ViT-B/8"},
                  {"vit_l_16", vit(16, 1024, 24, 16), vit_recipe, "ViT-L/16"},
                  {"vit_l_32", vit(32, 1024, 24, 16), vit_recipe, "ViT-L/32"},
                  {"vit_h_14", vit(14, 1280, 32, 16), vit_recipe, "ViT-H/14"},
              },
          .publisher = kTimm,
          .names = {{kTorchvision, "conv_proj.weight", kTorchvisionNames}},
          .recipes = recipes(),
          .timm_networks = {"deit_", "vit_"},
          .inner_activations = {"pos_embed_resized"}};
}

}  // namespace vig
