// Multi-scale deformable attention as a module: projections around the sampling.
#pragma once

#include <string>
#include <vector>

#include "vig/graph/builder.h"

namespace vig {

struct DeformableShape {
  int heads = 1;
  int points = 4;
  int value_dim = 0;             // of all heads together
  std::vector<GridSize> levels;  // of the features
  std::vector<GridSize> queries;
};

// Parameters `name`.value_proj, .sampling_offsets, .attention_weights and .output_proj, each with a
// bias.
Value deformable_attention(Builder& b, Value queries, Value features, const std::string& name,
                           const DeformableShape& shape);

}  // namespace vig
