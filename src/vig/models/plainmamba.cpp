// PlainMamba: Improving Non-Hierarchical Mamba in Visual Recognition.
//
// d embedding width, E = 2 d inner width, R rank of the step sizes, N states, tokens row by row.
// x = stem(image) + position;  x += mamba(norm(x));  head(mean(ln1(x))).
//   mamba(x) = out_proj(silu(z) * sum over four snakes of scan(u)), u = silu(conv2d(x')), x'|z =
//   in_proj(x)
// The snakes go by rows and by columns, forward and backward. As released, only u follows them: raw
// step sizes, B and C of index n are those of token n; and their bias enters twice.
// Parameter names are those of the released checkpoints.
#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"
#include "vig/models/scan_blocks.h"

namespace vig {
namespace {

constexpr Init kInit = normal_init(0.02f);
constexpr int kMaxStemConvs = 64;

struct PlainMambaConfig : ConfigOf<PlainMambaConfig> {
  int image_width = 0;  // of the image that the position table was made for; 0: image_size
  int patch_size = 16;
  int embed_dim = 192;
  int depth = 24;
  int stem_width = 64;
  int stem_convs = 1;     // 3 x 3 convolutions of the stem
  int dwconv_layers = 0;  // so many layers from the first on end in a depthwise convolution
  int expand = 2;
  int d_state = 16;
  int conv_size = 7;
  float ln_eps = 1e-5f;
  float final_eps = 1e-6f;
  float bn_eps = 1e-5f;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("image_width", image_width, 0);
    visitor.visit("patch_size", patch_size);
    visitor.visit("embed_dim", embed_dim);
    visitor.visit("depth", depth);
    visitor.visit("stem_width", stem_width);
    visitor.visit("stem_convs", stem_convs, 0);
    visitor.visit("dwconv_layers", dwconv_layers, 0);
    visitor.visit("expand", expand);
    visitor.visit("d_state", d_state);
    visitor.visit("conv_size", conv_size);
    visitor.visit("ln_eps", ln_eps);
    visitor.visit("final_eps", final_eps);
    visitor.visit("bn_eps", bn_eps);
  }
  int64_t blocks() const override { return depth; }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    std::map<std::string, std::string> fields = classes_shown_by(shapes, "head.fc.weight");
    int layers = 0;
    while (layers < depth &&
           shapes(fmt::format("backbone.layers.{}.dw.0.weight", layers)) != nullptr) {
      ++layers;
    }
    fields["dwconv_layers"] = fmt::format("{}", layers);
    fields.merge(image_size_shown_by(shapes, "backbone.pos_embed", 0, patch_size));
    return fields;
  }
};

Value stem(Builder& b, Value x, const PlainMambaConfig& config) {
  const std::string name = "backbone.patch_embed.";
  const auto conv = [&](const std::string& part, int first, Builder::ConvShape shape) {
    x = b.conv(x, fmt::format("{}{}.{}", name, part, first), config.stem_width, shape);
    x = b.batch_norm(x, fmt::format("{}{}.{}", name, part, first + 1), {config.bn_eps});
    x = b.activation(x, Elementwise::kRelu);
  };
  conv("stem", 0, {.kernel = 7, .stride = 2, .padding = 3, .bias = false});
  for (int i = 0; i < config.stem_convs; ++i) {
    conv("convs", 3 * i, {.kernel = 3, .padding = 1, .bias = false});
  }
  const int patch = config.patch_size / 2;
  return b.conv(x, name + "projection", config.embed_dim,
                {.kernel = patch, .stride = patch, .padding = kEndPadding});
}

Value mamba(Builder& b, Value x, const std::string& name, const PlainMambaConfig& config) {
  const int d = config.embed_dim, inner = config.expand * d, rank = step_rank(d);
  const std::string prefix = "backbone." + name + ".";
  const Value xz = b.linear(x, prefix + "in_proj", 2 * inner, true, kInit);
  Value u = b.select_channels(xz, 0, inner);
  const Init conv = fan_in_uniform(static_cast<int64_t>(config.conv_size) * config.conv_size);
  u = b.depthwise_conv(u, prefix + "conv2d", {.kernel = config.conv_size, .bias = true}, conv,
                       conv);
  u = b.activation(u, Elementwise::kSilu);
  const Value rates = b.linear(u, prefix + "x_proj", rank + 2 * config.d_state, false, kInit);
  const Value steps = b.linear_range(rates, {prefix + "dt_proj.weight", {inner, rank}, {}}, kInit);
  SelectiveScanOp op;
  op.channels = inner;
  op.states = config.d_state;
  for (const ScanOrder order : {ScanOrder::kSnakeRows, ScanOrder::kSnakeColumns}) {
    for (const bool backward : {false, true}) {
      op.directions.push_back({{order, backward}, 0, 0, 1, 0, 2, rank});
    }
  }
  op.taking = SelectiveScanOp::Taking::kOnlyUAlongPath;
  op.shared = true;
  op.bias_factor = 2.0f;
  op.gate = 3;
  op.gate_first = inner;
  op.moves = true;
  const Value y = b.selective_scan(
      {u, steps, rates, xz}, op,
      {{prefix + "A_log", prefix + "D", prefix + "dt_proj.bias", {}, prefix + "direction_Bs"}});
  return b.named(b.linear(y, prefix + "out_proj", d, true, kInit), name);
}

Value layer(Builder& b, Value x, int number, const PlainMambaConfig& config) {
  const std::string name = fmt::format("layers.{}", number), prefix = "backbone." + name;
  b.next_level();
  const Value y =
      mamba(b, b.layer_norm(x, prefix + ".norm", config.ln_eps), name + ".mamba", config);
  x = b.residual(x, y, drop_rate(config.drop_path, number, config.depth));
  if (number < config.dwconv_layers) {
    x = b.depthwise_conv(x, prefix + ".dw.0", {}, fan_in_uniform(9));
    x = b.activation(b.batch_norm(x, prefix + ".dw.1", {config.bn_eps}), Elementwise::kGelu);
  }
  return b.named(x, name);
}

Graph PlainMambaConfig::build(int height, int width) const {
  const int table_width = image_width == 0 ? image_size : image_width;
  if (patch_size < 2 || patch_size % 2 != 0 || image_size < patch_size ||
      table_width < patch_size) {
    fail_usage(
        "[plainmamba] patch_size={}, image_size={} and image_width={}, expected an even patch and "
        "images that are no smaller",
        patch_size, image_size, image_width);
  }
  if (conv_size % 2 == 0) fail_usage("[plainmamba] conv_size={}, expected an odd one", conv_size);
  if (stem_convs > kMaxStemConvs) {
    fail_usage("[plainmamba] stem_convs={}, expected at most {}", stem_convs, kMaxStemConvs);
  }
  check_width("plainmamba", "expand", expand, embed_dim);
  Builder b;
  Value x = b.named(stem(b, b.input("image", {height, width, 3}), *this), "patch_embed");
  x = b.add_position(x, "backbone.pos_embed", image_size / patch_size, table_width / patch_size,
                     kInit);
  b.named(x, "tokens");
  for (int i = 0; i < depth; ++i) x = layer(b, x, i, *this);
  b.next_level();
  x = b.named(b.layer_norm(x, "backbone.ln1", final_eps), "ln1");
  classifier_outputs(b, x, "head.fc", classes, normal_init(0.01f));
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

PlainMambaConfig variant(int embed_dim, int depth, int stem_convs, int dwconv_layers,
                         float drop_path) {
  PlainMambaConfig config;
  config.embed_dim = embed_dim;
  config.depth = depth;
  config.stem_convs = stem_convs;
  config.dwconv_layers = dwconv_layers;
  config.drop_path = drop_path;
  return config;
}

PlainMambaConfig miniature() {
  PlainMambaConfig config = variant(32, 2, 1, 1, 0.0f);
  config.classes = 10;
  config.image_size = 64;
  config.stem_width = 12;
  return config;
}

}  // namespace

Family plainmamba_family() {
  const Recipe imagenet;
  return {
      .name = "plainmamba",
      .base = "plainmamba_l2",
      .models =
          {
              {"plainmamba_l1", variant(192, 24, 1, 1, 0.2f), imagenet, "layer 1", "7M", "3.0G"},
              {"plainmamba_l2", variant(384, 24, 2, 0, 0.2f), imagenet, "layer 2", "26M", "8.1G"},
              {"plainmamba_l3", variant(448, 36, 2, 0, 0.4f), imagenet, "layer 3", "51M", "14.4G"},
              {"test_plainmamba", miniature(), imagenet.with_size(64), "miniature for tests"},
          },
      .buffers = {".num_batches_tracked"},
      .argument_fields = {{"num_convs_patch_embed", "stem_convs"},
                          {"layer_norm_eps", "ln_eps"},
                          {"final_norm_eps", "final_eps"}},
      .fixed_arguments = {{"dt_rank", ""}, {"table_grid", ""}, {"layers_with_dwconv", ""}},
      .inner_activations = {".scan_in", ".delta", ".scan_out"}};
}

}  // namespace vig
