#include "vig/models/vim_blocks.h"

#include <cmath>

#include "vig/models/blocks.h"
#include "vig/models/scan_blocks.h"

namespace vig {
namespace {

// What one direction of a mixer scans.
struct Direction {
  Value u, rates, steps;
};

Direction direction(Builder& b, Value xz, const std::string& name, const std::string& suffix,
                    const VimBackboneConfig& config) {
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

}  // namespace

Value vim_mixer(Builder& b, Value x, const std::string& name, const VimBackboneConfig& config,
                float scale) {
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
  op.scale = scale;
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

void VimBackboneConfig::visit(FieldVisitor& visitor) {
  visitor.visit("patch_size", patch_size);
  visitor.visit("stride", stride);
  visitor.visit("embed_dim", embed_dim);
  visitor.visit("depth", depth);
  visitor.visit("expand", expand);
  visitor.visit("d_state", d_state);
  visitor.visit("d_conv", d_conv);
  visitor.visit("norm_eps", norm_eps);
}

Value vim_patches(Builder& b, Value image, const VimBackboneConfig& config,
                  const std::string& prefix) {
  const int p = config.patch_size;
  const float deviation = 1.0f / std::sqrt(3.0f * static_cast<float>(int64_t{p} * p));
  return b.conv(image, prefix + "patch_embed.proj", config.embed_dim,
                {.kernel = p, .stride = config.stride}, normal_init(deviation));
}

}  // namespace vig
