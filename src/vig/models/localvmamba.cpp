// LocalVMamba: Visual State Space Model with Windowed Selective Scan.
//
// C channels, E = ratio C inner width, R rank of the step sizes, N states. x += op(norm(x)),
//   op(x) = out_proj(silu(z) * out_norm(sum over four directions of gate(scan(u))))
//   u = silu(conv2d(x')), x'|z = in_proj(x)
// Every block has four directions of its own: rows (h), columns (v), windows (w2, w7), and these
// backward (flip). head(mean(norm(x))). Parameter names are those of the released checkpoints.
#include <algorithm>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"
#include "vig/models/scan_blocks.h"

namespace vig {
namespace {

constexpr Init kInit = truncated_normal_init(0.02f);
constexpr int kDirections = kLocalDirections;

struct LocalVMambaConfig : ConfigOf<LocalVMambaConfig> {
  std::vector<int> dims = {96, 192, 384, 768};
  std::vector<int> depths = {2, 2, 9, 2};
  std::vector<int> directions = {};  // four for every block
  float ssm_ratio = 2.0f;
  int d_state = 16;
  int d_conv = 3;
  float ln_eps = 1e-5f;
  // Results of column scans go where the released code puts them, which is elsewhere unless the map
  // is square.
  bool released_inverse = false;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("dims", dims);
    visitor.visit("depths", depths);
    visitor.visit("directions", directions, kLocalDirectionNames);
    visitor.visit("ssm_ratio", ssm_ratio);
    visitor.visit("d_state", d_state);
    visitor.visit("d_conv", d_conv);
    visitor.visit("ln_eps", ln_eps);
    visitor.visit("released_inverse", released_inverse);
  }
  int64_t blocks() const override { return sum_of(depths); }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    return classes_shown_by(shapes, "classifier.head.weight");
  }
};

// The scans of a block, each with the channel gate that all of them share.
Value local_scan(Builder& b, Value u, const std::string& name, int rank, const int* directions,
                 const LocalVMambaConfig& config) {
  const int inner = b.grid(u).channels, width = rank + 2 * config.d_state;
  const Value rates = b.linear_range(u, {name + "x_proj_weight", {kDirections, width, inner}, {}},
                                     fan_in_uniform(inner));
  const Value steps = b.linear_range(
      rates, {name + "dt_projs_weight", {kDirections, inner, rank}, {kDirections, 0, width}},
      step_weight_init(rank));
  Value sum;
  for (int k = 0; k < kDirections; ++k) {
    SelectiveScanOp op;
    op.channels = inner;
    op.states = config.d_state;
    op.directions = {{local_path(directions[k]), 0, 0, 1, k * inner, 2, k * width + rank}};
    op.sets = kDirections;
    op.first_set = k;
    op.released_columns = config.released_inverse;
    Value y = b.selective_scan(
        {u, steps, rates}, op,
        {{name + "A_logs", name + "Ds", name + "dt_projs_bias", step_bias_init()}});
    y = channel_attention(b, y, name + "multi_scan.attn", config.ln_eps);
    sum = k == 0 ? y : b.add(sum, y);
  }
  return sum;
}

Value block(Builder& b, Value x, const std::string& name, double rate, const int* directions,
            const LocalVMambaConfig& config) {
  b.next_level();
  const int c = b.grid(x).channels;
  const int inner = static_cast<int>(config.ssm_ratio * static_cast<float>(c));
  const std::string op = name + ".op.";
  const Value n = b.layer_norm(x, name + ".norm", config.ln_eps);
  const GatedMap map = gated_map(b, n, op, inner, config.d_conv, kInit);
  Value y = local_scan(b, map.u, op, step_rank(c), directions, config);
  y = b.mul(b.layer_norm(y, op + "out_norm", config.ln_eps), map.gate);
  y = b.named(b.linear(y, op + "out_proj", c, false, kInit), name + ".op");
  return b.named(b.residual(x, y, rate), name);
}

Graph LocalVMambaConfig::build(int height, int width) const {
  const int narrowest = dims.empty() ? 0 : *std::min_element(dims.begin(), dims.end());
  if (dims.empty() || dims.size() != depths.size() || d_conv % 2 == 0 ||
      !(ssm_ratio * static_cast<float>(narrowest) >= 1.0f)) {
    fail_usage(
        "[localvmamba] {} dims, {} depths, d_conv={} and ssm_ratio={}, expected as many dims as "
        "depths, an odd d_conv and a channel or more",
        dims.size(), depths.size(), d_conv, ssm_ratio);
  }
  if (static_cast<int64_t>(directions.size()) != kDirections * blocks()) {
    fail_usage("[localvmamba] {} directions, expected {} for each of {} blocks", directions.size(),
               kDirections, blocks());
  }
  Builder b;
  Value x = b.input("image", {height, width, 3});
  x = b.conv(x, "patch_embed.0", dims[0], {.kernel = 4, .stride = 4});
  x = b.named(b.layer_norm(x, "patch_embed.2", ln_eps), "patch_embed");
  const int count = static_cast<int>(blocks());
  int number = 0;
  for (size_t s = 0; s < dims.size(); ++s) {
    const std::string stage = fmt::format("layers.{}", s);
    for (int i = 0; i < depths[s]; ++i, ++number) {
      x = block(b, x, fmt::format("{}.blocks.{}", stage, i), drop_rate(drop_path, number, count),
                directions.data() + kDirections * number, *this);
    }
    b.output(fmt::format("stage{}", s), x);
    if (s + 1 < dims.size()) {
      x = patch_merging(b, x, stage + ".downsample", dims[s + 1], ln_eps, kInit);
    }
    b.named(x, stage);
  }
  b.next_level();
  x = b.named(b.layer_norm(x, "classifier.norm", ln_eps), "classifier.norm");
  classifier_outputs(b, x, "classifier.head", classes, kInit);
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

LocalVMambaConfig variant(int third_depth, std::initializer_list<LocalDirections> searched) {
  LocalVMambaConfig config;
  config.depths = {2, 2, third_depth, 2};
  config.directions = concatenated(searched);
  config.drop_path = 0.2f;
  return config;
}

LocalVMambaConfig tiny() {
  return variant(9, {
                        {kH, kHFlip, kW7, kW7Flip},
                        {kHFlip, kVFlip, kW2, kW2Flip},
                        {kHFlip, kVFlip, kW2Flip, kW7},
                        {kHFlip, kV, kVFlip, kW2},
                        {kH, kHFlip, kVFlip, kW2Flip},
                        {kHFlip, kVFlip, kW2, kW2Flip},
                        {kH, kW2Flip, kW7, kW7Flip},
                        {kH, kHFlip, kV, kVFlip},
                        {kH, kVFlip, kW7, kW7Flip},
                        {kHFlip, kV, kW2, kW7Flip},
                        {kV, kVFlip, kW2, kW7Flip},
                        {kH, kHFlip, kVFlip, kW2Flip},
                        {kVFlip, kW2Flip, kW7, kW7Flip},
                        {kHFlip, kVFlip, kW2Flip, kW7Flip},
                        {kHFlip, kV, kW7, kW7Flip},
                    });
}

LocalVMambaConfig small() {
  return variant(27, {
                         {kH, kV, kVFlip, kW7Flip},     {kH, kHFlip, kV, kW7},
                         {kHFlip, kV, kVFlip, kW7},     {kHFlip, kV, kW2Flip, kW7},
                         {kHFlip, kV, kW2Flip, kW7},    {kHFlip, kVFlip, kW2, kW7Flip},
                         {kHFlip, kV, kVFlip, kW7},     {kH, kV, kVFlip, kW7},
                         {kH, kV, kVFlip, kW7},         {kH, kV, kVFlip, kW7Flip},
                         {kH, kHFlip, kV, kVFlip},      {kH, kV, kVFlip, kW2},
                         {kV, kVFlip, kW2Flip, kW7},    {kH, kHFlip, kV, kW2},
                         {kHFlip, kV, kVFlip, kW7Flip}, {kH, kHFlip, kV, kVFlip},
                         {kH, kV, kVFlip, kW7Flip},     {kH, kV, kVFlip, kW7Flip},
                         {kH, kHFlip, kVFlip, kW7},     {kHFlip, kVFlip, kW2Flip, kW7},
                         {kHFlip, kV, kVFlip, kW7Flip}, {kV, kVFlip, kW7, kW7Flip},
                         {kH, kV, kVFlip, kW7Flip},     {kHFlip, kV, kVFlip, kW2},
                         {kH, kV, kVFlip, kW2Flip},     {kH, kHFlip, kV, kW7},
                         {kH, kHFlip, kW7, kW7Flip},    {kH, kVFlip, kW2, kW2Flip},
                         {kH, kVFlip, kW2, kW7},        {kH, kV, kVFlip, kW7Flip},
                         {kHFlip, kV, kW2Flip, kW7},    {kHFlip, kVFlip, kW7, kW7Flip},
                         {kH, kV, kW7, kW7Flip},
                     });
}

LocalVMambaConfig miniature() {
  LocalVMambaConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.dims = {16, 24};
  config.depths = {1, 1};
  config.directions = {kH, kVFlip, kW2, kW7Flip, kHFlip, kV, kW2Flip, kW7};
  config.d_state = 4;
  return config;
}

}  // namespace

Family localvmamba_family() {
  const Recipe imagenet;
  return {.name = "localvmamba",
          .base = "localvmamba_t",
          .models =
              {
                  {"localvmamba_t", tiny(), imagenet, "tiny", "26M", "5.7G"},
                  {"localvmamba_s", small(), imagenet, "small", "50M", "11.4G"},
                  {"test_localvmamba", miniature(), imagenet.with_size(64), "miniature for tests"},
              },
          .fixed_arguments = {{"dt_rank", ""}},
          .inner_activations = {".scan_in", ".delta", ".scan_out"},
          .versions = {{"", {{"released_inverse", "true"}}},
                       {"vfix", {{"released_inverse", "false"}}}}};
}

}  // namespace vig
