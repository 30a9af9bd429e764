// ViG-H, the hierarchical model. Family file: see vig_h.cpp.
#pragma once

#include <vector>

#include "vig/graph/graph.h"

namespace vig {

struct VigHConfig {
  int classes = 1000;
  int image_size = 224;  // only what the recipe was made for; there is no position table
  int patch_size = 4;    // the stem halves the picture twice: 4 is the only value
  std::vector<int> dims = {96, 192, 384, 768};
  std::vector<int> depths = {2, 2, 5, 2};
  std::vector<int> heads = {3, 6, 12, 24};
  float expand_k = 0.5f;
  float expand_v = 1.0f;
  float drop_path = 0.0f;  // training only
};

Graph build_vig_h(const VigHConfig& config, int height, int width);

}  // namespace vig
