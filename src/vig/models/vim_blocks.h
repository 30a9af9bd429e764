// Vim's mixer and patch embedding: what its classifier and its backbone of dense prediction share.
#pragma once

#include <string>

#include "vig/graph/builder.h"
#include "vig/models/config.h"

namespace vig {

struct VimBackboneConfig {
  int patch_size = 16;
  int stride = 16;
  int embed_dim = 192;
  int depth = 24;
  int expand = 2;
  int d_state = 16;
  int d_conv = 4;
  float norm_eps = 1e-5f;

  void visit(FieldVisitor& visitor);
};

inline constexpr Init kVimInit = truncated_normal_init(0.02f);

Value vim_patches(Builder& b, Value image, const VimBackboneConfig& config,
                  const std::string& prefix = "");
// The sum of both directions times `scale`, gated and projected. `name` ends with a dot.
Value vim_mixer(Builder& b, Value x, const std::string& name, const VimBackboneConfig& config,
                float scale);

}  // namespace vig
