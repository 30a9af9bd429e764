// Vim: Efficient Visual Representation Learning with Bidirectional State Space Model.
//
// d embedding width, E = 2 d inner width, R rank of the step sizes, N states; M tokens row by row
// with the class token before token M / 2. x = tokens + position;  x += mixer(norm(x));
// head(norm(x) of the class token). Parameter names are those of the released checkpoints
// (bidirectional v2, output divided by 2).
#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"
#include "vig/models/vim_blocks.h"

namespace vig {
namespace {

struct VimConfig : ConfigOf<VimConfig>, VimBackboneConfig {
  int image_width = 0;  // of the image that the position table was made for; 0: image_size

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("image_width", image_width, 0);
    VimBackboneConfig::visit(visitor);
  }
  int64_t blocks() const override { return depth; }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    std::map<std::string, std::string> fields = classes_shown_by(shapes, "head.weight");
    fields.merge(image_size_shown_by(shapes, "pos_embed", 1, patch_size, stride));
    return fields;
  }
};

Graph VimConfig::build(int height, int width) const {
  check_width("vim", "expand", expand, embed_dim);
  const int table_height = image_size, table_width = image_width == 0 ? image_size : image_width;
  if (table_height < patch_size || table_width < patch_size) {
    fail_usage("[vim] image_size={} and image_width={}, expected at least patch_size={}",
               image_size, image_width, patch_size);
  }
  Builder b;
  Value x = vim_patches(b, b.input("image", {height, width, 3}), *this);
  const Grid grid = b.grid(x);
  const int middle = static_cast<int>(grid.positions() / 2);
  x = b.insert_rows(x, b.tokens("cls_token", 1, embed_dim, kVimInit), middle);
  // The published resize keeps the table's first row, although the class token is in the middle.
  x = b.add_position(x, "pos_embed",
                     {window_count(table_height, patch_size, stride, 0),
                      window_count(table_width, patch_size, stride, 0),
                      grid.height,
                      grid.width,
                      {{0, 0}}},
                     kVimInit);
  b.named(x, "tokens");
  for (int i = 0; i < depth; ++i) {
    const std::string name = fmt::format("layers.{}", i);
    b.next_level();
    if (i > 0) b.named(x, name + ".residual_in_plus_prev");
    Value y = b.rms_norm(x, name + ".norm", norm_eps);
    y = b.named(vim_mixer(b, y, name + ".mixer.", *this, 0.5f), name + ".mixer");
    x = b.residual(x, y, drop_rate(drop_path, i, depth));
  }
  b.next_level();
  x = b.named(b.rms_norm(x, "norm_f", norm_eps), "norm_f");
  b.output("features", x);
  x = b.select_rows(x, middle, 1, 1);
  b.output("pooled", x);
  b.begin_head();
  b.output("logits", b.linear(x, "head", classes, true, kVimInit));
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

VimConfig variant(int embed_dim, float drop_path) {
  VimConfig config;
  config.embed_dim = embed_dim;
  config.drop_path = drop_path;
  return config;
}

VimConfig miniature() {
  VimConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.embed_dim = 32;
  config.depth = 2;
  return config;
}

}  // namespace

Family vim_family() {
  const Recipe imagenet;
  return {.name = "vim",
          .base = "vim_t",
          .models =
              {
                  {"vim_t", variant(192, 0.0f), imagenet, "tiny", "7M", "1.5G"},
                  {"vim_s", variant(384, 0.05f), imagenet, "small", "26M", "5.1G"},
                  {"test_vim", miniature(), imagenet.with_size(64), "miniature for tests"},
              },
          .fixed_arguments = {{"dt_rank", ""},
                              {"bimamba_type", "v2"},
                              {"if_divide_out", "true"},
                              {"rms_norm", "true"},
                              {"middle_cls", "true"}},
          .inner_activations = {".delta", ".y_before_gate", ".y_before_gate_reversed",
                                "pos_embed_resized"}};
}

}  // namespace vig
