#include "vig/models/vig_h_blocks.h"

#include <fmt/ranges.h>

#include "vig/base/error.h"
#include "vig/models/blocks.h"

namespace vig {
namespace {

constexpr Builder::ConvShape kHalve{3, 2, 1};

Value block(Builder& b, Value x, const std::string& name, int heads, double rate,
            const VigHBackboneConfig& config) {
  b.next_level();
  const int c = b.grid(x).channels;
  MixerConfig mixer_config;
  mixer_config.heads = heads;
  mixer_config.key_dim = static_cast<int>(c * config.expand_k);
  mixer_config.value_dim = static_cast<int>(c * config.expand_v);
  mixer_config.init = kVigHLinearInit;
  mixer_config.two_pass = config.scan == VigScan::kTwoPass;
  Value u = b.named(b.layer_norm(x, name + ".norm", kVigHNormEps), name + ".norm");
  x = b.residual(x, mixer(b, u, name + ".op", mixer_config), rate);
  u = b.named(b.layer_norm(x, name + ".norm2", kVigHNormEps), name + ".norm2");
  const Value branch =
      swiglu_ffn(b, u, name + ".mlp.fc1", name + ".mlp.fc2", ffn_hidden(c, 32), kVigHLinearInit);
  b.named(branch, name + ".mlp");
  return b.named(b.residual(x, branch, rate), name);
}

}  // namespace

void VigHBackboneConfig::visit(FieldVisitor& visitor) {
  visitor.visit("patch_size", patch_size);
  visitor.visit("dims", dims);
  visitor.visit("depths", depths);
  visitor.visit("heads", heads);
  visitor.visit("expand_k", expand_k);
  visitor.visit("expand_v", expand_v);
  visitor.visit("scan", scan, kVigScanNames);
}

int64_t VigHBackboneConfig::all_blocks() const { return sum_of(depths); }

void VigHBackboneConfig::check() const {
  const size_t stages = dims.size();
  if (stages == 0 || depths.size() != stages || heads.size() != stages) {
    fail_usage(
        "[vig_h] dims={} are {} stages, depths={} are {} and heads={} are {}; give the three for "
        "the same number of stages, each by --set FIELD=VALUE",
        fmt::join(dims, ","), stages, fmt::join(depths, ","), depths.size(), fmt::join(heads, ","),
        heads.size());
  }
  if (patch_size != 4) {
    fail_usage("[vig_h] patch_size is {}, expected 4", patch_size);
  }
}

VigHBackboneConfig VigHBackboneConfig::of(int width, int third_depth) {
  VigHBackboneConfig config;
  config.dims = {width, 2 * width, 4 * width, 8 * width};
  config.depths = {2, 2, third_depth, 2};
  config.heads = {width / 32, width / 16, width / 8, width / 4};
  return config;
}

VigHBackboneConfig VigHBackboneConfig::miniature() {
  VigHBackboneConfig config;
  config.dims = {16, 32, 64, 128};
  config.depths = {1, 1, 1, 1};
  config.heads = {2, 4, 4, 8};
  return config;
}

std::vector<Value> vig_h_stages(Builder& b, Value image, const VigHBackboneConfig& config,
                                float drop_path, const std::string& prefix) {
  config.check();
  const size_t stages = config.dims.size();
  std::vector<Value> outputs;
  Value x = b.conv(image, prefix + "patch_embed.0", config.dims[0] / 2, kHalve);
  x = b.activation(b.layer_norm(x, prefix + "patch_embed.2", kVigHNormEps), Elementwise::kGelu);
  x = b.conv(x, prefix + "patch_embed.5", config.dims[0], kHalve);
  x = b.named(b.layer_norm(x, prefix + "patch_embed.7", kVigHNormEps), prefix + "patch_embed");
  const int count = static_cast<int>(config.all_blocks());
  int number = 0;
  for (size_t s = 0; s < stages; ++s) {
    const std::string layer = fmt::format("{}layers.{}", prefix, s);
    for (int i = 0; i < config.depths[s]; ++i) {
      x = block(b, x, fmt::format("{}.blocks.{}", layer, i), config.heads[s],
                drop_rate(drop_path, number++, count), config);
    }
    outputs.push_back(x);
    if (s + 1 < stages) {
      x = b.conv(x, layer + ".downsample.1", config.dims[s + 1], kHalve);
      x = b.layer_norm(x, layer + ".downsample.3", kVigHNormEps);
      b.named(x, layer + ".downsample");
    }
    b.named(x, layer);
  }
  return outputs;
}

}  // namespace vig
