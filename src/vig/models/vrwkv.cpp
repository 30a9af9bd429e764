// Vision-RWKV: Efficient and Scalable Visual Perception with RWKV-Like Architectures.
//
// C channels, T tokens of the grid; s the token shift, mix_a(x) = x m_a + s(x) (1 - m_a).
//   att(x) = output(sigmoid(receptance(mix_r(x))) * biwkv(key(mix_k(x)), value(mix_v(x))))
//   ffn(x) = sigmoid(receptance(mix_r(x))) * value(relu(key(mix_k(x)))^2)
// x += g1 att(ln1(x)) and x += g2 ffn(ln2(x)), or with the norms inside the branches,
// x += g1 ln1(att(x)); head(mean(ln1(x))). The image is padded with zeros to whole patches.
// Parameter names are those of the released checkpoints.
#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/graph/init.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"

namespace vig {
namespace {

constexpr Init kInit = normal_init(0.02f);

struct VrwkvConfig : ConfigOf<VrwkvConfig> {
  int image_width = 0;  // of the image that the position table was made for; 0: image_size
  int patch_size = 16;
  int embed_dim = 192;
  int depth = 12;
  int hidden_rate = 4;
  bool post_norm = false;    // norms inside the branches
  bool layer_scale = false;  // g1 and g2
  float gamma = 1.0f;        // what layer scale begins with
  float ln_eps = 1e-5f;
  // The weights of bi-WKV of the released kernel, with which the checkpoints were trained, instead
  // of the published formula's.
  bool released_kernel = true;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("image_width", image_width, 0);
    visitor.visit("patch_size", patch_size);
    visitor.visit("embed_dim", embed_dim);
    visitor.visit("depth", depth);
    visitor.visit("hidden_rate", hidden_rate);
    visitor.visit("post_norm", post_norm);
    visitor.visit("layer_scale", layer_scale);
    visitor.visit("gamma", gamma);
    visitor.visit("ln_eps", ln_eps);
    visitor.visit("released_kernel", released_kernel);
  }
  int64_t blocks() const override { return depth; }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    std::map<std::string, std::string> fields = classes_shown_by(shapes, "head.fc.weight");
    fields.merge(image_size_shown_by(shapes, "backbone.pos_embed", 0, patch_size));
    return fields;
  }
};

// Initial values, of block `layer` of `depth` (as a share) and channel h of C.

// (h / C)^power + shift.
void fill_mix(const FreshParam& param, float power, float shift) {
  const auto channels = static_cast<float>(param.values.size());
  for (size_t h = 0; h < param.values.size(); ++h) {
    param.values[h] = std::pow(static_cast<float>(h) / channels, power) + shift;
  }
}

void fill_decay(const FreshParam& param, float power, float) {
  const float last = std::max(1.0f, static_cast<float>(param.values.size()) - 1.0f);
  for (size_t h = 0; h < param.values.size(); ++h) {
    param.values[h] = -5.0f + 8.0f * std::pow(static_cast<float>(h) / last, power);
  }
}

void fill_first(const FreshParam& param, float, float) {
  for (size_t h = 0; h < param.values.size(); ++h) {
    const float zigzag = 0.5f * (static_cast<float>((h + 1) % 3) - 1.0f);
    param.values[h] = std::log(0.3f) + zigzag;
  }
}

// How deep a block lies.
struct Depth {
  float zero_to_one, one_to_almost_zero;

  Depth(int layer, int depth)
      : zero_to_one(static_cast<float>(layer) / static_cast<float>(std::max(1, depth - 1))),
        one_to_almost_zero(1.0f - static_cast<float>(layer) / static_cast<float>(depth)) {}
};

Value attention(Builder& b, Value x, const std::string& name, const Depth& at,
                const VrwkvConfig& config) {
  const int c = config.embed_dim;
  const std::string prefix = "backbone." + name + ".";
  const float p = at.one_to_almost_zero;
  const Value mixed =
      b.q_shift(x, {{prefix + "spatial_mix_k", {fill_mix, p}},
                    {prefix + "spatial_mix_v", {fill_mix, p, 0.3f * at.zero_to_one}},
                    {prefix + "spatial_mix_r", {fill_mix, 0.5f * p}}});
  const auto product = [&](const char* what, int mix) {
    const LinearOp range{1, mix * c, 0};
    return b.linear_range(mixed, {prefix + what + ".weight", {c, c}, range}, kInit);
  };
  const Value k = b.named(product("key", 0), name + ".k");
  const Value v = b.named(product("value", 1), name + ".v");
  const Value r = b.activation(product("receptance", 2), Elementwise::kSigmoid);
  const Value y = b.bi_wkv(k, v,
                           {prefix + "spatial_decay",
                            prefix + "spatial_first",
                            {fill_decay, 0.7f + 1.3f * at.zero_to_one},
                            {fill_first}},
                           {config.released_kernel});
  b.named(y, name + ".wkv");
  return b.named(b.linear(b.mul(r, y), prefix + "output", c, false, kInit), name);
}

Value feed_forward(Builder& b, Value x, const std::string& name, const Depth& at,
                   const VrwkvConfig& config) {
  const int c = config.embed_dim, hidden = widened(name, "hidden_rate", config.hidden_rate, c);
  const std::string prefix = "backbone." + name + ".";
  const Init mix{fill_mix, at.one_to_almost_zero};
  const Value mixed =
      b.q_shift(x, {{prefix + "spatial_mix_k", mix}, {prefix + "spatial_mix_r", mix}});
  Value k = b.linear_range(mixed, {prefix + "key.weight", {hidden, c}, {1, 0, 0}}, kInit);
  k = b.activation(k, Elementwise::kRelu2);
  Value r = b.linear_range(mixed, {prefix + "receptance.weight", {c, c}, {1, c, 0}}, kInit);
  r = b.activation(r, Elementwise::kSigmoid);
  return b.mul(r, b.linear(k, prefix + "value", c, false, kInit));
}

Value block(Builder& b, Value x, int number, const VrwkvConfig& config) {
  const std::string name = fmt::format("layers.{}", number);
  const std::string prefix = "backbone." + name + ".";
  const double rate = drop_rate(config.drop_path, number, config.depth);
  const Depth at(number, config.depth);
  b.next_level();
  if (number == 0) x = b.layer_norm(x, prefix + "ln0", config.ln_eps);
  const auto branch = [&](const char* part, const char* norm, const char* gamma, auto compute) {
    Value y = x;
    if (!config.post_norm) y = b.layer_norm(y, prefix + norm, config.ln_eps);
    y = compute(b, y, name + part, at, config);
    if (config.post_norm) y = b.layer_norm(y, prefix + norm, config.ln_eps);
    if (config.layer_scale) y = b.scale(y, prefix + gamma, config.gamma);
    x = b.residual(x, y, rate);
  };
  branch(".att", "ln1", "gamma1", attention);
  branch(".ffn", "ln2", "gamma2", feed_forward);
  return b.named(x, name);
}

Graph VrwkvConfig::build(int height, int width) const {
  const int table_width = image_width == 0 ? image_size : image_width;
  if (image_size < patch_size || table_width < patch_size) {
    fail_usage("[vrwkv] image_size={} and image_width={}, expected at least patch_size={}",
               image_size, image_width, patch_size);
  }
  Builder b;
  Value x = b.input("image", {height, width, 3});
  x = b.conv(x, "backbone.patch_embed.projection", embed_dim,
             {.kernel = patch_size, .stride = patch_size, .padding = kEndPadding});
  b.named(x, "patch_embed");
  x = b.add_position(x, "backbone.pos_embed", image_size / patch_size, table_width / patch_size,
                     {});
  for (int i = 0; i < depth; ++i) x = block(b, x, i, *this);
  b.next_level();
  x = b.named(b.layer_norm(x, "backbone.ln1", ln_eps), "ln1");
  classifier_outputs(b, x, "head.fc", classes, kInit);
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

VrwkvConfig variant(int embed_dim, bool post_norm, float gamma, float drop_path) {
  VrwkvConfig config;
  config.embed_dim = embed_dim;
  config.post_norm = config.layer_scale = post_norm;
  config.gamma = gamma;
  config.drop_path = drop_path;
  return config;
}

VrwkvConfig miniature() {
  VrwkvConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.embed_dim = 32;
  config.depth = 2;
  return config;
}

}  // namespace

Family vrwkv_family() {
  const Recipe imagenet;
  return {
      .name = "vrwkv",
      .base = "vrwkv_t",
      .models =
          {
              {"vrwkv_t", variant(192, false, 1.0f, 0.0f), imagenet, "tiny", "6M", "1.2G"},
              {"vrwkv_s", variant(384, true, 1.0f, 0.3f), imagenet, "small", "24M", "4.6G"},
              {"vrwkv_b", variant(768, true, 1e-5f, 0.5f), imagenet, "base", "94M", "18.2G"},
              {"test_vrwkv", miniature(), imagenet.with_size(64), "miniature for tests"},
          },
      .fixed_arguments = {{"channel_gamma", "0.25"}, {"shift_pixel", "1"}, {"final_norm", "true"}},
      .inner_activations = {".q_shift"},
      .versions = {{"", {{"released_kernel", "false"}}},
                   {"kernel", {{"released_kernel", "true"}}}}};
}

}  // namespace vig
