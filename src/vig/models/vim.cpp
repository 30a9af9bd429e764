// Vim: Efficient Visual Representation Learning with Bidirectional State Space Model.
//
// d embedding width, E = 2 d inner width, R rank of the step sizes, N states; M tokens row by row
// with the class token before token M / 2. x = tokens + position;  x += mixer(norm(x));
// head(norm(x) of the class token). Parameter names are those of the released checkpoints
// (bidirectional v2, output divided by 2).
#include <cmath>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"
#include "vig/models/scan_blocks.h"

namespace vig {
namespace {

constexpr Init kInit = truncated_normal_init(0.02f);

struct VimConfig : ConfigOf<VimConfig> {
  int image_width = 0;  // of the image that the position table was made for; 0: image_size
  int patch_size = 16;
  int stride = 16;
  int embed_dim = 192;
  int depth = 24;
  int expand = 2;
  int d_state = 16;
  int d_conv = 4;
  float norm_eps = 1e-5f;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("image_width", image_width, 0);
    visitor.visit("patch_size", patch_size);
    visitor.visit("stride", stride);
    visitor.visit("embed_dim", embed_dim);
    visitor.visit("depth", depth);
    visitor.visit("expand", expand);
    visitor.visit("d_state", d_state);
    visitor.visit("d_conv", d_conv);
    visitor.visit("norm_eps", norm_eps);
  }
  int64_t blocks() const override { return depth; }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    std::map<std::string, std::string> fields = classes_shown_by(shapes, "head.weight");
    fields.merge(image_size_shown_by(shapes, "pos_embed", 1, patch_size, stride));
    return fields;
  }
};

// What one direction of a mixer scans.
struct Direction {
  Value u, rates, steps;
};

Direction direction(Builder& b, Value xz, const std::string& name, const std::string& suffix,
                    const VimConfig& config) {
  const int inner = config.expand * config.embed_dim, rank = step_rank(config.embed_dim);
  const Init conv = fan_in_uniform(config.d_conv);
  Direction made;
  made.u = b.conv1d(xz, name + "conv1d" + suffix,
                    {config.d_conv, 0, inner, {ScanOrder::kRows, suffix == "_b"}}, conv, conv);
  made.u = b.activation(made.u, Elementwise::kSilu);
  made.rates = b.linear(made.u, name + "x_proj" + suffix, rank + 2 * config.d_state, false,
                        fan_in_uniform(inner));
  made.steps =
      b.linear_range(made.rates, {name + "dt_proj" + suffix + ".weight", {inner, rank}, {}},
                     step_weight_init(rank));
  return made;
}

Value mixer(Builder& b, Value x, const std::string& name, const VimConfig& config) {
  const int d = config.embed_dim, inner = config.expand * d, rank = step_rank(d);
  const Value xz = b.linear(x, name + "in_proj", 2 * inner, false, fan_in_uniform(d));
  const Direction forward = direction(b, xz, name, "", config);
  const Direction backward = direction(b, xz, name, "_b", config);
  b.named(forward.u, name.substr(0, name.rfind("mixer")) + "fwd.conv_silu");
  SelectiveScanOp op;
  op.channels = inner;
  op.states = config.d_state;
  op.directions = {{{ScanOrder::kRows, false}, 0, 0, 1, 0, 2, rank},
                   {{ScanOrder::kRows, true}, 3, 0, 4, 0, 5, rank}};
  op.scale = 0.5f;
  op.gate = 6;
  op.gate_first = inner;
  const Value y = b.selective_scan(
      {forward.u, forward.steps, forward.rates, backward.u, backward.steps, backward.rates, xz}, op,
      {{name + "A_log", name + "D", name + "dt_proj.bias", step_bias_init()},
       {name + "A_b_log", name + "D_b", name + "dt_proj_b.bias"}});
  const float bound =
      1.0f / std::sqrt(static_cast<float>(inner) * static_cast<float>(config.depth));
  return b.linear(y, name + "out_proj", d, false, uniform_init(bound));
}

Graph VimConfig::build(int height, int width) const {
  check_width("vim", "expand", expand, embed_dim);
  const int table_height = image_size, table_width = image_width == 0 ? image_size : image_width;
  if (table_height < patch_size || table_width < patch_size) {
    fail_usage("[vim] image_size={} and image_width={}, expected at least patch_size={}",
               image_size, image_width, patch_size);
  }
  Builder b;
  Value x = b.input("image", {height, width, 3});
  x = b.conv(
      x, "patch_embed.proj", embed_dim, {.kernel = patch_size, .stride = stride},
      normal_init(1.0f / std::sqrt(3.0f * static_cast<float>(int64_t{patch_size} * patch_size))));
  const Grid grid = b.grid(x);
  const int middle = static_cast<int>(grid.positions() / 2);
  x = b.insert_rows(x, b.tokens("cls_token", 1, embed_dim, kInit), middle);
  // The published resize keeps the table's first row, although the class token is in the middle.
  x = b.add_position(x, "pos_embed",
                     {window_count(table_height, patch_size, stride, 0),
                      window_count(table_width, patch_size, stride, 0),
                      grid.height,
                      grid.width,
                      {{0, 0}}},
                     kInit);
  b.named(x, "tokens");
  for (int i = 0; i < depth; ++i) {
    const std::string name = fmt::format("layers.{}", i);
    b.next_level();
    if (i > 0) b.named(x, name + ".residual_in_plus_prev");
    Value y = b.rms_norm(x, name + ".norm", norm_eps);
    y = b.named(mixer(b, y, name + ".mixer.", *this), name + ".mixer");
    x = b.residual(x, y, drop_rate(drop_path, i, depth));
  }
  b.next_level();
  x = b.named(b.rms_norm(x, "norm_f", norm_eps), "norm_f");
  b.output("features", x);
  x = b.select_rows(x, middle, 1, 1);
  b.output("pooled", x);
  b.begin_head();
  b.output("logits", b.linear(x, "head", classes, true, kInit));
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
