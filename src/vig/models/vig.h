// ViG, the plain model, and the steps of its paper's roadmap. Family file: see vig.cpp.
#pragma once

#include "vig/graph/graph.h"

namespace vig {

struct VigConfig {
  // How the mixer sees both directions of the sequence.
  enum class Mixing {
    kCausal,   // GLA as published for text
    kShared,   // both directions, one gate
    kGated,    // both directions, a gate each (ViG)
    kTwoLayer  // a second, backward layer with its own q, k, v and gate (GLA_Vim)
  };

  int classes = 1000;
  int image_size = 224;  // what the position table was made for; any size runs
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
  Mixing mixing = Mixing::kGated;
  float drop_path = 0.0f;  // training only
};

Graph build_vig(const VigConfig& config, int height, int width);

}  // namespace vig
