// ViG-H: the hierarchical model of the ViG paper.
//
// Stages of c channels, m FFN hidden width; each stage but the last halves the grid.
// x += op(norm(x));  x += mlp(norm2(x));  head(mean(norm(x))).
// Parameter names and order of operations are those of the released checkpoints.
#include "vig/models/vig_h.h"

#include <fmt/ranges.h>

#include "vig/base/error.h"
#include "vig/models/blocks.h"

namespace vig {
namespace {

constexpr float kNormEps = 1e-5f;
constexpr Init kLinearInit{Init::Kind::kTruncatedNormal, 0.02f};
constexpr Builder::ConvShape kHalve{3, 2, 1};

Value block(Builder& b, Value x, const std::string& name, int heads, const VigHConfig& config) {
  const int c = b.grid(x).channels;
  MixerConfig mixer_config;
  mixer_config.heads = heads;
  mixer_config.key_dim = static_cast<int>(c * config.expand_k);
  mixer_config.value_dim = static_cast<int>(c * config.expand_v);
  mixer_config.init = kLinearInit;
  Value u = b.named(b.layer_norm(x, name + ".norm", kNormEps), name + ".norm");
  x = b.residual(x, mixer(b, u, name + ".op", mixer_config));
  u = b.named(b.layer_norm(x, name + ".norm2", kNormEps), name + ".norm2");
  const Value branch =
      swiglu_ffn(b, u, name + ".mlp.fc1", name + ".mlp.fc2", ffn_hidden(c, 32), kLinearInit);
  b.named(branch, name + ".mlp");
  return b.named(b.residual(x, branch), name);
}

}  // namespace

Graph build_vig_h(const VigHConfig& config, int height, int width) {
  const size_t stages = config.dims.size();
  if (stages == 0 || config.depths.size() != stages || config.heads.size() != stages) {
    fail_usage(
        "[vig_h] dims={} are {} stages, depths={} are {} and heads={} are {}; give the three for "
        "the same number of stages, each by --set FIELD=VALUE",
        fmt::join(config.dims, ","), stages, fmt::join(config.depths, ","), config.depths.size(),
        fmt::join(config.heads, ","), config.heads.size());
  }
  if (config.patch_size != 4) {
    fail_usage("[vig_h] patch_size is {}, expected 4", config.patch_size);
  }
  Builder b(height, width);
  Value x = b.conv(b.input(), "patch_embed.0", config.dims[0] / 2, kHalve);
  x = b.activation(b.layer_norm(x, "patch_embed.2", kNormEps), ActKind::kGelu);
  x = b.conv(x, "patch_embed.5", config.dims[0], kHalve);
  x = b.named(b.layer_norm(x, "patch_embed.7", kNormEps), "patch_embed");
  for (size_t s = 0; s < stages; ++s) {
    const std::string layer = fmt::format("layers.{}", s);
    for (int i = 0; i < config.depths[s]; ++i) {
      x = block(b, x, fmt::format("{}.blocks.{}", layer, i), config.heads[s], config);
    }
    b.output(fmt::format("stage{}", s), x);
    if (s + 1 < stages) {
      x = b.conv(x, layer + ".downsample.1", config.dims[s + 1], kHalve);
      x = b.layer_norm(x, layer + ".downsample.3", kNormEps);
      b.named(x, layer + ".downsample");
    }
    b.named(x, layer);
  }
  x = b.named(b.layer_norm(x, "classifier.norm", kNormEps), "classifier.norm");
  classifier_outputs(b, x, "classifier.head", config.classes, kLinearInit);
  return std::move(b).finish();
}

}  // namespace vig
