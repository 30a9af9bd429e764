// Multi-scale deformable attention with its projections, as ViT-Adapter's injectors and extractors
// use it.
#pragma once

#include <string>
#include <vector>

#include "vig/graph/builder.h"

namespace vig {

struct DeformableShape {
  int heads = 6;
  int points = 4;                 // of a head in each level
  int value_width = 0;            // of all heads together
  std::vector<GridSize> levels;   // the grids of the features, whose rows follow each other
  std::vector<GridSize> queries;  // the grids of the queries
};

// output_proj(samples of value_proj(features) where the queries choose), as wide as the queries:
// parameters `name`.value_proj, .sampling_offsets, .attention_weights and .output_proj, each with
// a bias.
Value deformable_attention(Builder& b, Value queries, Value features, const std::string& name,
                           const DeformableShape& shape);

// A fresh sampling_offsets.bias [heads, levels, points, (x, y)]: head h looks along the angle
// 2 pi h / heads, by the vector whose larger component is 1, point p (p + 1) times as far.
void fill_sampling_directions(const FreshParam& param, float heads, float points);

}  // namespace vig
