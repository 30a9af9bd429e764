// Vision-RWKV up to its last block: what its classifier and its backbone of dense prediction share.
#pragma once

#include <string>

#include "vig/graph/builder.h"
#include "vig/models/config.h"

namespace vig {

struct VrwkvBackboneConfig {
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

  void visit(FieldVisitor& visitor);
  // Throws a usage error where a table for images of this size would be empty.
  void check(int height, int width) const;
};

inline constexpr Init kVrwkvInit = normal_init(0.02f);

// The names of parameters begin with "backbone.", those of modules with `modules`.
// Patches and positions; the table is that of images of height x width.
Value vrwkv_tokens(Builder& b, Value image, const VrwkvBackboneConfig& config, GridSize table,
                   const std::string& modules = "");
// Block `number`, which begins a level of its own. The last block has the drop rate `drop_path`.
Value vrwkv_block(Builder& b, Value x, int number, const VrwkvBackboneConfig& config,
                  float drop_path, const std::string& modules = "");

}  // namespace vig
