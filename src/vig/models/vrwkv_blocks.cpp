#include "vig/models/vrwkv_blocks.h"

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/graph/init.h"
#include "vig/models/blocks.h"

namespace vig {
namespace {

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

// The names of a part of a block.
struct PartNames {
  std::string module, params;  // of which the second ends with a dot
};

Value attention(Builder& b, Value x, const PartNames& names, const Depth& at,
                const VrwkvBackboneConfig& config) {
  const int c = config.embed_dim;
  const std::string &name = names.module, &prefix = names.params;
  const float p = at.one_to_almost_zero;
  const Value mixed =
      b.q_shift(x, {{prefix + "spatial_mix_k", {fill_mix, p}},
                    {prefix + "spatial_mix_v", {fill_mix, p, 0.3f * at.zero_to_one}},
                    {prefix + "spatial_mix_r", {fill_mix, 0.5f * p}}});
  const auto product = [&](const char* what, int mix) {
    const LinearOp range{1, mix * c, 0};
    return b.linear_range(mixed, {prefix + what + ".weight", {c, c}, range}, kVrwkvInit);
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
  return b.named(b.linear(b.mul(r, y), prefix + "output", c, false, kVrwkvInit), name);
}

Value feed_forward(Builder& b, Value x, const PartNames& names, const Depth& at,
                   const VrwkvBackboneConfig& config) {
  const std::string& prefix = names.params;
  const int c = config.embed_dim;
  const int hidden = widened(names.module, "hidden_rate", config.hidden_rate, c);
  const Init mix{fill_mix, at.one_to_almost_zero};
  const Value mixed =
      b.q_shift(x, {{prefix + "spatial_mix_k", mix}, {prefix + "spatial_mix_r", mix}});
  Value k = b.linear_range(mixed, {prefix + "key.weight", {hidden, c}, {1, 0, 0}}, kVrwkvInit);
  k = b.activation(k, Elementwise::kRelu2);
  Value r = b.linear_range(mixed, {prefix + "receptance.weight", {c, c}, {1, c, 0}}, kVrwkvInit);
  r = b.activation(r, Elementwise::kSigmoid);
  return b.named(b.mul(r, b.linear(k, prefix + "value", c, false, kVrwkvInit)), names.module);
}

}  // namespace

void VrwkvBackboneConfig::visit(FieldVisitor& visitor) {
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

void VrwkvBackboneConfig::check(int height, int width) const {
  if (height >= patch_size && width >= patch_size) return;
  fail_usage("[vrwkv] image_size {} x {} is too small for patch_size {}", height, width,
             patch_size);
}

Value vrwkv_tokens(Builder& b, Value image, const VrwkvBackboneConfig& config, GridSize table,
                   const std::string& modules) {
  const int p = config.patch_size;
  const Value x = b.conv(image, "backbone.patch_embed.projection", config.embed_dim,
                         {.kernel = p, .stride = p, .padding = kEndPadding});
  b.named(x, modules + "patch_embed");
  return b.add_position(x, "backbone.pos_embed", table.height / p, table.width / p, {});
}

Value vrwkv_block(Builder& b, Value x, int number, const VrwkvBackboneConfig& config,
                  float drop_path, const std::string& modules) {
  const std::string name = fmt::format("layers.{}", number);
  const std::string prefix = "backbone." + name + ".";
  const double rate = drop_rate(drop_path, number, config.depth);
  const Depth at(number, config.depth);
  b.next_level();
  if (number == 0) x = b.layer_norm(x, prefix + "ln0", config.ln_eps);
  const auto branch = [&](const std::string& part, const char* norm, const char* gamma,
                          auto compute) {
    Value y = x;
    if (!config.post_norm) y = b.layer_norm(y, prefix + norm, config.ln_eps);
    y = compute(b, y, {modules + name + "." + part, prefix + part + "."}, at, config);
    if (config.post_norm) y = b.layer_norm(y, prefix + norm, config.ln_eps);
    if (config.layer_scale) y = b.scale(y, prefix + gamma, config.gamma);
    x = b.residual(x, y, rate);
  };
  branch("att", "ln1", "gamma1", attention);
  branch("ffn", "ln2", "gamma2", feed_forward);
  return b.named(x, modules + name);
}

}  // namespace vig
