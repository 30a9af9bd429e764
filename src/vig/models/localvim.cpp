// LocalVim: Vim with windowed selective scans (LocalMamba).
//
// d embedding width, E = expand d inner width, R rank of the step sizes, N states; T tokens row by
// row.
//   x = tokens + position
//   x = rotary(x);  x += mixer(norm(x))                                      for each layer
//   head(mean(norm(x)))
// The mixer sums four directions of its own, each with parameters of its own and with the channel
// gate that all four share:
//   out_proj(sum of gate(scan(silu(conv1d(x' along the direction))) * silu(z))), x'|z = in_proj(x)
// Padding of windows comes before conv1d, so that padding enters the state.
//
// A variant has a class token in the middle instead of rotary positions and of the mean; the token
// is at index T / 2 of every direction. Parameter names are those of the released checkpoints.
#include <cmath>

#include "vig/base/error.h"
#include "vig/graph/init.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"
#include "vig/models/scan_blocks.h"

namespace vig {
namespace {

constexpr Init kInit = normal_init(0.02f);

struct LocalVimConfig : ConfigOf<LocalVimConfig> {
  int patch_size = 16;
  int embed_dim = 192;
  int depth = 20;
  std::vector<int> directions = {};  // four for every layer
  int expand = 2;
  int d_state = 16;
  int d_conv = 4;
  bool rotary = true;
  bool class_token = false;
  float norm_eps = 1e-5f;
  float gate_eps = 1e-5f;
  // Results of column scans go where the released code puts them, which is elsewhere unless the
  // grid is square.
  bool released_inverse = false;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("patch_size", patch_size);
    visitor.visit("embed_dim", embed_dim);
    visitor.visit("depth", depth);
    visitor.visit("directions", directions, kLocalDirectionNames);
    visitor.visit("expand", expand);
    visitor.visit("d_state", d_state);
    visitor.visit("d_conv", d_conv);
    visitor.visit("rotary", rotary);
    visitor.visit("class_token", class_token);
    visitor.visit("norm_eps", norm_eps);
    visitor.visit("gate_eps", gate_eps);
    visitor.visit("released_inverse", released_inverse);
  }
  int64_t blocks() const override { return depth; }
  bool fixed_size() const override { return class_token; }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    std::map<std::string, std::string> fields = classes_shown_by(shapes, "head.weight");
    const auto shown = [&](const char* tensor) {
      return shapes(tensor) != nullptr ? "true" : "false";
    };
    fields["rotary"] = shown("rope.freqs_cos");
    fields["class_token"] = shown("cls_token");
    const int extra = shapes("cls_token") != nullptr ? 1 : 0;
    fields.merge(image_size_shown_by(shapes, "pos_embed", extra, patch_size));
    return fields;
  }

  int table_side() const { return image_size / patch_size; }  // of the grid it was made for
  void check(int height, int width) const;
};

// Direction k of a mixer, gated, on the grid or the sequence of xz.
Value direction(Builder& b, Value xz, const std::string& name, int k, const ScanPath& path,
                const LocalVimConfig& config) {
  const int inner = config.expand * config.embed_dim, rank = step_rank(config.embed_dim);
  const auto own = [&](const char* what) { return fmt::format("{}{}_{}", name, what, k); };
  const Init conv = fan_in_uniform(config.d_conv);
  Value u = b.conv1d(xz, own("conv1d"), {config.d_conv, 0, inner, path, true}, conv, conv);
  u = b.activation(u, Elementwise::kSilu);
  const Value rates = b.linear(u, own("x_proj"), rank + 2 * config.d_state, false, kInit);
  const Value steps = b.linear_range(rates, {own("dt_proj") + ".weight", {inner, rank}, {}}, kInit);
  SelectiveScanOp op;
  op.channels = inner;
  op.states = config.d_state;
  op.directions = {{path, 0, 0, 1, 0, 2, rank}};
  op.taking = SelectiveScanOp::Taking::kSequences;
  op.gate = 3;
  op.gate_first = inner;
  op.released_columns = config.released_inverse;
  return b.selective_scan({u, steps, rates, xz}, op,
                          {{own("A_log"), own("D"), own("dt_proj") + ".bias"}}, b.grid(xz));
}

Value mixer(Builder& b, Value x, const std::string& name, const int* directions,
            const LocalVimConfig& config, const ScanPath& token) {
  const int d = config.embed_dim, inner = config.expand * d;
  const Value xz = b.linear(x, name + "in_proj", 2 * inner, false, kInit);
  Value sum;
  for (int k = 0; k < kLocalDirections; ++k) {
    ScanPath path = local_path(directions[k]);
    path.token = token.token;
    path.columns = token.columns;
    Value y = direction(b, xz, name, k, path, config);
    y = channel_attention(b, y, name + "attn", config.gate_eps);
    sum = k == 0 ? y : b.add(sum, y);
  }
  const float bound =
      1.0f / std::sqrt(static_cast<float>(inner) * static_cast<float>(config.depth));
  return b.linear(sum, name + "out_proj", d, false, uniform_init(bound));
}

void LocalVimConfig::check(int height, int width) const {
  check_width("localvim", "expand", expand, embed_dim);
  if (image_size < patch_size) {
    fail_usage("[localvim] image_size={}, expected at least patch_size={}", image_size, patch_size);
  }
  if (static_cast<int64_t>(directions.size()) != kLocalDirections * blocks()) {
    fail_usage("[localvim] {} directions, expected {} for each of {} layers", directions.size(),
               kLocalDirections, blocks());
  }
  if (rotary && (class_token || embed_dim % 4 != 0)) {
    fail_usage(
        "[localvim] rotary=true with class_token={} and embed_dim={}, expected no class token and "
        "a multiple of 4",
        class_token, embed_dim);
  }
  if (class_token && (height != image_size || width != image_size)) {
    fail_usage(
        "[localvim] the image is {} x {}, expected {} x {}: with class_token=true the network "
        "runs at the size it was made for (field image_size)",
        height, width, image_size, image_size);
  }
}

Graph LocalVimConfig::build(int height, int width) const {
  check(height, width);
  Builder b;
  Value x = b.input("image", {height, width, 3});
  x = b.conv(x, "patch_embed.proj", embed_dim,
             {.kernel = patch_size, .stride = patch_size, .padding = kEndPadding});
  b.named(x, "patch_embed");
  const Grid grid = b.grid(x);
  const int middle = static_cast<int>(grid.positions() / 2);
  ScanPath token;
  if (class_token) {
    token.token = middle;
    token.columns = grid.width;
    x = b.insert_rows(x, b.tokens("cls_token", 1, embed_dim, {}), middle);
    const AddPositionOp table = {
        table_side(), table_side(), grid.height, grid.width, {{middle, middle}}};
    x = b.add_position(x, "pos_embed", table, kInit);
  } else {
    x = b.add_position(x, "pos_embed", table_side(), table_side(), kInit);
  }
  const Builder::RotaryTables tables = rotary_tables("rope", table_side());
  for (int i = 0; i < depth; ++i) {
    const std::string name = fmt::format("layers.{}", i);
    b.next_level();
    if (rotary) x = b.rotary(x, tables, {table_side(), table_side()});
    b.named(x, name + ".stream_in");
    Value y = b.named(b.rms_norm(x, name + ".norm", norm_eps), name + ".norm");
    y = mixer(b, y, name + ".mixer.", directions.data() + kLocalDirections * i, *this, token);
    x = b.residual(x, b.named(y, name + ".mixer"), drop_rate(drop_path, i, depth));
  }
  b.next_level();
  x = b.named(b.rms_norm(x, "norm_f", norm_eps), "norm_f");
  if (!class_token) {
    classifier_outputs(b, x, "head", classes, kInit, {}, "pooled");
    return std::move(b).finish();
  }
  b.output("features", x);
  x = b.named(b.select_rows(x, middle, 1, 1), "pooled");
  b.output("pooled", x);
  b.begin_head();
  b.output("logits", b.linear(x, "head", classes, true, kInit));
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

LocalVimConfig tiny() {
  constexpr LocalDirections kSearched[] = {
      {kH, kVFlip, kW7, kW7Flip}, {kHFlip, kW2Flip, kW7, kW7Flip}, {kH, kHFlip, kV, kW7},
      {kH, kHFlip, kV, kVFlip},   {kH, kHFlip, kV, kVFlip},        {kH, kHFlip, kV, kVFlip},
      {kHFlip, kV, kVFlip, kW7},  {kHFlip, kV, kVFlip, kW2Flip},   {kH, kHFlip, kV, kVFlip},
      {kH, kHFlip, kV, kVFlip},   {kH, kV, kVFlip, kW2},           {kH, kV, kVFlip, kW2Flip},
      {kH, kHFlip, kVFlip, kW7},  {kHFlip, kV, kVFlip, kW2},       {kH, kHFlip, kV, kVFlip},
      {kH, kV, kW2, kW2Flip},     {kV, kVFlip, kW2, kW7},          {kH, kHFlip, kV, kW2},
      {kH, kHFlip, kW2Flip, kW7}, {kV, kVFlip, kW2, kW2Flip},
  };
  LocalVimConfig config;
  config.directions = concatenated(kSearched);
  config.drop_path = 0.1f;
  return config;
}

// The released code defines it twice; the definition that takes effect has the same directions in
// every layer.
LocalVimConfig small() {
  LocalVimConfig config;
  config.embed_dim = 384;
  const std::vector<LocalDirections> same(static_cast<size_t>(config.depth),
                                          {kH, kHFlip, kW2, kW2Flip});
  config.directions = concatenated(same);
  config.drop_path = 0.1f;
  return config;
}

LocalVimConfig miniature() {
  LocalVimConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.embed_dim = 32;
  config.depth = 2;
  config.directions = {kH, kVFlip, kW2, kW7Flip, kHFlip, kV, kW2Flip, kW7};
  return config;
}

}  // namespace

Family localvim_family() {
  const Recipe imagenet;
  return {
      .name = "localvim",
      .base = "localvim_t",
      .models =
          {
              {"localvim_t", tiny(), imagenet, "tiny", "8M", "1.5G"},
              {"localvim_s", small(), imagenet, "small", "28M", "4.8G"},
              {"test_localvim", miniature(), imagenet.with_size(64), "miniature for tests"},
          },
      .argument_fields = {{"rope", "rotary"},
                          {"middle_cls", "class_token"},
                          {"channel_gate_ln_eps", "gate_eps"}},
      .fixed_arguments = {{"dt_rank", ""}, {"table_grid", ""}, {"rope_pt_seq_len", "14"}},
      .inner_activations = {".conv_silu", ".delta", ".y_before_gate", ".dirs_after_channel_gate"},
      .versions = {{"", {{"released_inverse", "true"}}},
                   {"vfix", {{"released_inverse", "false"}}}}};
}

}  // namespace vig
