#include "vig/models/vit_blocks.h"

#include <array>

#include "vig/base/error.h"
#include "vig/models/blocks.h"

namespace vig {
namespace {

constexpr std::array<std::string_view, 3> kFormNames = {"tiled", "materialised", "eager"};

}  // namespace

void VitBackboneConfig::visit(FieldVisitor& visitor) {
  visitor.visit("patch_size", patch_size);
  visitor.visit("embed_dim", embed_dim);
  visitor.visit("depth", depth);
  visitor.visit("heads", heads);
  visitor.visit("mlp_ratio", mlp_ratio);
  visitor.visit("attention", attention, kFormNames);
}

void VitBackboneConfig::check(int height, int width) const {
  if (embed_dim % heads != 0) {
    fail_usage("[vit] embed_dim is {}, expected a multiple of heads={}", embed_dim, heads);
  }
  if (height < patch_size || width < patch_size) {
    fail_usage("[vit] image_size {} x {} is too small for patch_size {}", height, width,
               patch_size);
  }
}

Value vit_patches(Builder& b, Value image, const VitBackboneConfig& config,
                  const std::string& prefix) {
  const Value x = b.conv(image, prefix + "patch_embed.proj", config.embed_dim,
                         {.kernel = config.patch_size, .stride = config.patch_size});
  return b.named(x, prefix + "patch_embed");
}

Value vit_block(Builder& b, Value x, const VitBlock& block, const VitBackboneConfig& config) {
  const std::string name = fmt::format("{}blocks.{}", block.prefix, block.number);
  const int d = config.embed_dim;
  const double rate = drop_rate(block.drop_path, block.number, config.depth);
  b.next_level();
  Value y = b.layer_norm(x, name + ".norm1", kVitNormEps);
  y = b.linear(y, name + ".attn.qkv", 3 * d, true, kVitInit);
  y = block.window > 0 ? b.window_attention(y, {config.heads, block.window, block.window})
                       : b.attention(y, {config.heads, config.attention});
  y = b.named(b.linear(y, name + ".attn.proj", d, true, kVitInit), name + ".attn");
  if (block.layer_scale) y = b.scale(y, name + ".gamma1", 1.0f);
  x = b.residual(x, y, rate);
  y = b.layer_norm(x, name + ".norm2", kVitNormEps);
  y = gelu_mlp(b, y, name + ".mlp", config.mlp_ratio, kVitInit);
  if (block.layer_scale) y = b.scale(y, name + ".gamma2", 1.0f);
  return b.named(b.residual(x, y, rate), name);
}

}  // namespace vig
