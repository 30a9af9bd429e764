// The plain ViG up to its last block: what its classifier and its backbone of dense prediction
// share.
#pragma once

#include <string>

#include "vig/graph/builder.h"
#include "vig/models/config.h"
#include "vig/models/vig_scan.h"

namespace vig {

// How the mixer sees both directions of the sequence.
enum class VigMixing {
  kCausal,   // GLA as published for text
  kShared,   // both directions, one gate
  kGated,    // both directions, a gate each (ViG)
  kTwoLayer  // a second, backward layer with its own q, k, v and gate (GLA_Vim)
};

struct VigBackboneConfig {
  int patch_size = 16;
  int embed_dim = 192;
  int depth = 12;
  int heads = 3;
  float expand_k = 0.5f;  // key width / embed_dim
  float expand_v = 1.0f;  // value width / embed_dim
  bool conv_stem = true;  // two overlapping convolutions instead of one patch convolution
  bool position = true;
  bool locality = true;  // depthwise convolution and 2-D gate
  bool silu_after_dwconv = false;
  bool silu_before_o_proj = false;
  bool layer_scale = false;
  VigMixing mixing = VigMixing::kGated;
  VigScan scan = VigScan::kMerged;

  void visit(FieldVisitor& visitor);
  // Throws a usage error for a patch_size or an embed_dim that the stem cannot have.
  void check() const;

  static VigBackboneConfig tiny();
  static VigBackboneConfig small();
  static VigBackboneConfig base();
};

inline constexpr float kVigNormEps = 1e-6f;
inline constexpr Init kVigLinearInit = normal_init(0.02f);

// The patch embedding and the position table, which is that of images of `image_size`. Every name
// begins with `prefix`.
Value vig_tokens(Builder& b, Value image, const VigBackboneConfig& config, int image_size,
                 const std::string& prefix = "");
// Block `number`, which begins a level of its own. The last block has the drop rate `drop_path`.
Value vig_block(Builder& b, Value x, int number, const VigBackboneConfig& config, float drop_path,
                const std::string& prefix = "");

}  // namespace vig
