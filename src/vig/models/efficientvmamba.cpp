// EfficientVMamba: Atrous Selective Scan for Light Weight Visual Mamba.
//
// C channels, E = ratio C inner width, R rank of the step sizes, N states. In the first two stages
//   x += gate(op(n)) + gate(conv_branch(n)), n = norm(x)
//   op(n) = out_proj(silu(z) * out_norm(scan(u))), u = silu(conv2d(x')), x'|z = in_proj(n)
// where each quarter of the positions, every second row and column, is scanned by itself; in the
// last two inverted residuals with squeeze-excite. head(mean(norm(x))).
// Parameter names are those of the released checkpoints.
#include <algorithm>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"
#include "vig/models/scan_blocks.h"

namespace vig {
namespace {

constexpr Init kInit = truncated_normal_init(0.02f);
constexpr size_t kScanStages = 2;

struct EfficientVMambaConfig : ConfigOf<EfficientVMambaConfig> {
  std::vector<int> dims = {96, 192, 384, 768};
  std::vector<int> depths = {2, 2, 9, 2};
  float ssm_ratio = 2.0f;
  int d_state = 16;
  int d_conv = 3;
  int expand_ratio = 4;     // of the inverted residuals
  float se_ratio = 0.125f;  // of their expanded channels
  float ln_eps = 1e-5f;
  float bn_eps = 1e-5f;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("dims", dims);
    visitor.visit("depths", depths);
    visitor.visit("ssm_ratio", ssm_ratio);
    visitor.visit("d_state", d_state);
    visitor.visit("d_conv", d_conv);
    visitor.visit("expand_ratio", expand_ratio);
    visitor.visit("se_ratio", se_ratio);
    visitor.visit("ln_eps", ln_eps);
    visitor.visit("bn_eps", bn_eps);
  }
  int64_t blocks() const override { return sum_of(depths); }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    return classes_shown_by(shapes, "classifier.head.weight");
  }
};

// Scans of the four quarters of the positions. Neighbours of 2 x 2 stand in the channels of one
// position first, so that every quarter meets its own projections alone.
Value quarter_scan(Builder& b, Value u, const std::string& name, int rank, int states) {
  constexpr int kQuarters = 4;
  const Grid grid = b.grid(u);
  const int inner = grid.channels, width = rank + 2 * states;
  const Value quarters = b.space_to_depth(u);
  const Value rates = b.linear_range(
      quarters, {name + "x_proj_weight", {kQuarters, width, inner}, {kQuarters, 0, inner}},
      fan_in_uniform(inner));
  const Value steps = b.linear_range(
      rates, {name + "dt_projs_weight", {kQuarters, inner, rank}, {kQuarters, 0, width}},
      step_weight_init(rank));
  SelectiveScanOp op;
  op.channels = inner;
  op.states = states;
  op.taking = SelectiveScanOp::Taking::kHalfGrid;
  for (int k = 0; k < kQuarters; ++k) {
    op.directions.push_back(
        {{ScanOrder::kSubgrid, false, k}, 0, k * inner, 1, k * inner, 2, k * width + rank});
  }
  return b.selective_scan(
      {quarters, steps, rates}, op,
      {{name + "A_logs", name + "Ds", name + "dt_projs_bias", step_bias_init()}}, grid);
}

Value scan_block(Builder& b, Value x, const std::string& name, double rate,
                 const EfficientVMambaConfig& config) {
  const int c = b.grid(x).channels;
  const int inner = static_cast<int>(config.ssm_ratio * static_cast<float>(c));
  const std::string op = name + ".op.", branch = name + ".conv_branch.";
  const Value n = b.layer_norm(x, name + ".norm", config.ln_eps);
  const GatedMap map = gated_map(b, n, op, inner, config.d_conv, kInit);
  Value y = quarter_scan(b, map.u, op, step_rank(c), config.d_state);
  y = b.mul(b.layer_norm(y, op + "out_norm", config.ln_eps), map.gate);
  y = b.named(b.linear(y, op + "out_proj", c, false, kInit), name + ".op");
  y = b.named(channel_attention(b, y, name + ".se", config.ln_eps), name + ".se_ssm");
  Value z = b.depthwise_conv(n, branch + "0", {.bias = true}, fan_in_uniform(9), fan_in_uniform(9));
  z = b.activation(b.batch_norm(z, branch + "1", {.eps = config.bn_eps}), Elementwise::kGelu);
  z = b.named(b.conv(z, branch + "3", c, {}), name + ".conv_branch");
  z = b.named(channel_attention(b, z, name + ".se", config.ln_eps), name + ".se_conv");
  return b.named(b.residual(x, b.add(y, z), rate), name);
}

Value conv_block(Builder& b, Value x, const std::string& name, double rate,
                 const EfficientVMambaConfig& config) {
  const int c = b.grid(x).channels, wide = widened(name, "expand_ratio", config.expand_ratio, c);
  Value y = conv_norm(b, x, name + ".conv_pw.0", name + ".conv_pw.1", wide, {}, config.bn_eps);
  y = b.activation(y, Elementwise::kRelu);
  y = b.depthwise_conv(y, name + ".conv_dw.0", {}, kaiming_normal(int64_t{9} * wide));
  y = b.activation(b.batch_norm(y, name + ".conv_dw.1", {.eps = config.bn_eps}),
                   Elementwise::kRelu);
  check_width(name, "se_ratio", config.se_ratio, wide);
  const int reduced = static_cast<int>(config.se_ratio * static_cast<float>(wide));
  y = squeeze_excite(b, y, {name + ".se.conv_reduce", name + ".se.conv_expand", reduced});
  y = conv_norm(b, y, name + ".conv_pw2.0", name + ".conv_pw2.1", c, {}, config.bn_eps);
  return b.named(b.residual(x, y, rate), name);
}

Graph EfficientVMambaConfig::build(int height, int width) const {
  const int narrowest = dims.empty() ? 0 : *std::min_element(dims.begin(), dims.end());
  if (dims.size() <= kScanStages || dims.size() != depths.size() || d_conv % 2 == 0 ||
      !(ssm_ratio * static_cast<float>(narrowest) >= 1.0f) ||
      !(se_ratio * static_cast<float>(expand_ratio) * static_cast<float>(narrowest) >= 1.0f)) {
    fail_usage(
        "[efficientvmamba] {} dims, {} depths, d_conv={}, ssm_ratio={} and se_ratio={}, expected "
        "as many dims as depths, 3 or more, an odd d_conv and a channel or more",
        dims.size(), depths.size(), d_conv, ssm_ratio, se_ratio);
  }
  Builder b;
  Value x = b.input("image", {height, width, 3});
  x = b.conv(x, "patch_embed.0", dims[0], {.kernel = 4, .stride = 4});
  x = b.named(b.layer_norm(x, "patch_embed.2", ln_eps), "patch_embed");
  const int count = static_cast<int>(blocks());
  int number = 0;
  for (size_t s = 0; s < dims.size(); ++s) {
    const std::string stage = fmt::format("layers.{}", s);
    const bool scans = s < kScanStages;
    for (int i = 0; i < depths[s]; ++i) {
      const double rate = drop_rate(drop_path, number++, count);
      b.next_level();
      x = scans ? scan_block(b, x, fmt::format("{}.blocks.{}", stage, i), rate, *this)
                : conv_block(b, x, fmt::format("{}.{}", stage, 1 + i), rate, *this);
    }
    b.output(fmt::format("stage{}", s), x);
    if (s + 1 < dims.size()) {
      // Between convolutions and merging the released modules have one without parameters.
      const std::string name =
          stage + (scans ? std::string(".downsample") : fmt::format(".{}", depths[s] + 2));
      x = patch_merging(b, x, name, dims[s + 1], ln_eps, kInit);
    }
    b.named(x, stage);
  }
  b.next_level();
  x = b.named(b.layer_norm(x, "classifier.norm", ln_eps), "classifier.norm");
  classifier_outputs(b, x, "classifier.head", classes, kInit);
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

EfficientVMambaConfig variant(int width, int third_depth) {
  EfficientVMambaConfig config;
  config.dims = {width, 2 * width, 4 * width, 8 * width};
  config.depths = {2, 2, third_depth, 2};
  config.drop_path = 0.2f;
  return config;
}

EfficientVMambaConfig miniature() {
  EfficientVMambaConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.dims = {16, 24, 32, 40};
  config.depths = {1, 1, 1, 1};
  config.d_state = 4;
  return config;
}

}  // namespace

Family efficientvmamba_family() {
  const Recipe imagenet;
  return {
      .name = "efficientvmamba",
      .base = "efficientvmamba_b",
      .models =
          {
              {"efficientvmamba_t", variant(48, 4), imagenet, "tiny", "6M", "0.8G"},
              {"efficientvmamba_s", variant(64, 4), imagenet, "small", "11M", "1.3G"},
              {"efficientvmamba_b", variant(96, 9), imagenet, "base", "33M", "4.0G"},
              {"test_efficientvmamba", miniature(), imagenet.with_size(64), "miniature for tests"},
          },
      .buffers = {".num_batches_tracked"},
      .fixed_arguments = {{"dt_rank", ""}, {"step_size", "2"}, {"mlp_ratio", "0.0"}},
      .inner_activations = {".scan_in", ".delta", ".scan_out"}};
}

}  // namespace vig
