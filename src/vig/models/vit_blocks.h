// The Vision Transformer up to its last block: what its classifier and its backbone of dense
// prediction share.
#pragma once

#include <string>
#include <vector>

#include "vig/graph/builder.h"
#include "vig/models/config.h"

namespace vig {

struct VitBackboneConfig {
  int patch_size = 16;
  int embed_dim = 192;
  int depth = 12;
  int heads = 3;
  int mlp_ratio = 4;
  AttentionForm attention = AttentionForm::kTiled;

  void visit(FieldVisitor& visitor);
  // Throws a usage error where heads do not divide the width, or where a table for images of this
  // size would be empty.
  void check(int height, int width) const;
};

inline constexpr float kVitNormEps = 1e-6f;
inline constexpr Init kVitInit = truncated_normal_init(0.02f);

// Beside the config: how a block differs between the classifier and dense prediction.
struct VitBlock {
  int number = 0;
  float drop_path = 0;       // of the last block
  int window = 0;            // side of the windows of its attention; 0: among all tokens
  bool layer_scale = false;  // g1 and g2, which begin at 1
  std::string prefix = "";   // of every name
};
// x += g1 attn(norm1(x));  x += g2 mlp(norm2(x)). Begins a level of its own.
Value vit_block(Builder& b, Value x, const VitBlock& block, const VitBackboneConfig& config);

// The patches as tokens, by a convolution `prefix`patch_embed.proj.
Value vit_patches(Builder& b, Value image, const VitBackboneConfig& config,
                  const std::string& prefix = "");

}  // namespace vig
