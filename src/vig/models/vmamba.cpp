// VMamba: Visual State Space Model (its second version, without a gate).
//
// Stages of C channels on H x W grids, E = ratio C inner width, R rank of the step sizes, N states.
//   op(x) = out_proj(out_norm(sum over four directions of scan(u))), u = silu(conv2d(in_proj(x)))
// The directions are row by row, column by column, and both backward. x += op(norm(x));
// x += mlp(norm2(x)); head(mean(norm(x))). Parameter names are those of the released checkpoints.
#include <algorithm>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"
#include "vig/models/scan_blocks.h"

namespace vig {
namespace {

constexpr Init kInit = truncated_normal_init(0.02f);

struct VMambaConfig : ConfigOf<VMambaConfig> {
  std::vector<int> dims = {96, 192, 384, 768};
  std::vector<int> depths = {2, 2, 5, 2};
  float ssm_ratio = 2.0f;
  float mlp_ratio = 4.0f;
  int d_state = 1;
  int d_conv = 3;
  float ln_eps = 1e-5f;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("dims", dims);
    visitor.visit("depths", depths);
    visitor.visit("ssm_ratio", ssm_ratio);
    visitor.visit("mlp_ratio", mlp_ratio);
    visitor.visit("d_state", d_state);
    visitor.visit("d_conv", d_conv);
    visitor.visit("ln_eps", ln_eps);
  }
  int64_t blocks() const override { return sum_of(depths); }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    return classes_shown_by(shapes, "classifier.head.weight");
  }
};

// The four scans over the grid, on the map u.
Value cross_scan(Builder& b, Value u, const std::string& name, int rank, int states) {
  constexpr int kDirections = 4;
  const int inner = b.grid(u).channels, width = rank + 2 * states;
  const Value rates = b.linear_range(u, {name + "x_proj_weight", {kDirections, width, inner}, {}},
                                     fan_in_uniform(inner));
  const Value steps = b.linear_range(
      rates, {name + "dt_projs_weight", {kDirections, inner, rank}, {kDirections, 0, width}},
      step_weight_init(rank));
  SelectiveScanOp op;
  op.channels = inner;
  op.states = states;
  for (int k = 0; k < kDirections; ++k) {
    const ScanPath path{k % 2 == 0 ? ScanOrder::kRows : ScanOrder::kColumns, k >= 2};
    op.directions.push_back({path, 0, 0, 1, k * inner, 2, k * width + rank});
  }
  return b.selective_scan(
      {u, steps, rates}, op,
      {{name + "A_logs", name + "Ds", name + "dt_projs_bias", step_bias_init()}});
}

Value block(Builder& b, Value x, const std::string& name, double rate, const VMambaConfig& config) {
  b.next_level();
  const int c = b.grid(x).channels;
  const int inner = static_cast<int>(config.ssm_ratio * static_cast<float>(c));
  const int hidden = static_cast<int>(config.mlp_ratio * static_cast<float>(c));
  const std::string op = name + ".op.";
  Value y = b.layer_norm(x, name + ".norm", config.ln_eps);
  y = b.linear(y, op + "in_proj", inner, false, kInit);
  y = b.depthwise_conv(y, op + "conv2d", {.kernel = config.d_conv},
                       fan_in_uniform(static_cast<int64_t>(config.d_conv) * config.d_conv));
  y = b.activation(y, Elementwise::kSilu);
  y = cross_scan(b, y, op, step_rank(c), config.d_state);
  y = b.layer_norm(y, op + "out_norm", config.ln_eps);
  y = b.named(b.linear(y, op + "out_proj", c, false, kInit), name + ".op");
  x = b.residual(x, y, rate);
  y = b.layer_norm(x, name + ".norm2", config.ln_eps);
  y = b.activation(b.linear(y, name + ".mlp.fc1", hidden, true, kInit), Elementwise::kGelu);
  y = b.linear(y, name + ".mlp.fc2", c, true, kInit);
  return b.named(b.residual(x, y, rate), name);
}

Graph VMambaConfig::build(int height, int width) const {
  if (dims.empty() || dims.size() != depths.size() || dims[0] < 2) {
    fail_usage(
        "[vmamba] {} dims and {} depths, expected the same number of stages; give both by --set "
        "FIELD=VALUE",
        dims.size(), depths.size());
  }
  const int narrowest = *std::min_element(dims.begin(), dims.end());
  if (d_state < 1 || d_conv < 1 || d_conv % 2 == 0 ||
      !(ssm_ratio * static_cast<float>(narrowest) >= 1.0f) ||
      !(mlp_ratio * static_cast<float>(narrowest) >= 1.0f)) {
    fail_usage(
        "[vmamba] d_state={}, d_conv={}, ssm_ratio={} and mlp_ratio={}, expected a state, an odd "
        "d_conv and a channel or more",
        d_state, d_conv, ssm_ratio, mlp_ratio);
  }
  const Builder::ConvShape half{.kernel = 3, .stride = 2, .padding = 1};
  Builder b;
  Value x = b.input("image", {height, width, 3});
  x = b.conv(x, "patch_embed.0", dims[0] / 2, half);
  x = b.activation(b.layer_norm(x, "patch_embed.2", ln_eps), Elementwise::kGelu);
  x = b.conv(x, "patch_embed.5", dims[0], half);
  x = b.named(b.layer_norm(x, "patch_embed.7", ln_eps), "patch_embed");
  const int count = static_cast<int>(blocks());
  int number = 0;
  for (size_t s = 0; s < dims.size(); ++s) {
    const std::string stage = fmt::format("layers.{}", s);
    for (int i = 0; i < depths[s]; ++i) {
      x = block(b, x, fmt::format("{}.blocks.{}", stage, i), drop_rate(drop_path, number++, count),
                *this);
    }
    b.output(fmt::format("stage{}", s), x);
    if (s + 1 == dims.size()) {
      b.named(x, stage);
      break;
    }
    x = b.conv(x, stage + ".downsample.1", dims[s + 1], half);
    x = b.named(b.layer_norm(x, stage + ".downsample.3", ln_eps), stage + ".downsample");
  }
  b.next_level();
  x = b.named(b.layer_norm(x, "classifier.norm", ln_eps), "classifier.norm");
  classifier_outputs(b, x, "classifier.head", classes, kInit);
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

VMambaConfig variant(int width, int third_depth, float drop_path) {
  VMambaConfig config;
  config.dims = {width, 2 * width, 4 * width, 8 * width};
  config.depths = {2, 2, third_depth, 2};
  config.drop_path = drop_path;
  return config;
}

VMambaConfig one_to_one() {
  VMambaConfig config = variant(96, 8, 0.2f);
  config.ssm_ratio = 1.0f;
  return config;
}

VMambaConfig miniature() {
  VMambaConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.dims = {16, 24, 32, 48};
  config.depths = {1, 1, 2, 1};
  return config;
}

}  // namespace

Family vmamba_family() {
  const Recipe imagenet;
  return {.name = "vmamba",
          .base = "vmamba_t",
          .models =
              {
                  {"vmamba_t", variant(96, 5, 0.2f), imagenet, "tiny (s2l5)", "31M", "4.9G"},
                  {"vmamba_s", variant(96, 15, 0.3f), imagenet, "small (s2l15)", "50M", "8.7G"},
                  {"vmamba_b", variant(128, 15, 0.6f), imagenet, "base (s2l15)", "89M", "15.4G"},
                  {"vmamba_t_s1l8", one_to_one(), imagenet, "tiny (s1l8)"},
                  {"test_vmamba", miniature(), imagenet.with_size(64), "miniature for tests"},
              },
          .fixed_arguments = {{"dt_rank", ""}, {"forward_type", "v05_noz"}},
          .inner_activations = {".scan_in", ".delta", ".scan_out"}};
}

}  // namespace vig
