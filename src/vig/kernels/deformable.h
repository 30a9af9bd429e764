// The sampling of multi-scale deformable attention: every query takes weighted samples of a few
// maps, at positions that it chooses itself.
//
// L levels, maps of height_l x width_l whose rows of values follow each other; H heads of D
// channels, P points of a head in each level. The query in row j and column i of its grid of height
// x width samples, for head h, level l and point p, the position
//   x = (i + 0.5) width_l / width - 0.5 + offset_x[h, l, p]
//   y = (j + 0.5) height_l / height - 0.5 + offset_y[h, l, p]
// in pixels of that level, 0 the middle of the first one:
//   o[h] = sum over l, p of a[h, l, p] v[l, h](x, y),  a[h] = softmax of logits[h] over all l, p,
// v(x, y) bilinear, pixels outside of the map counting 0. A position that is NaN lies outside.
// Values must be finite: pixels outside are read from the border and multiplied by 0.
#pragma once

#include <cstdint>

namespace vig {

struct DeformableGrid {
  int64_t height = 0;
  int64_t width = 0;  // both below 2^23, height * width below 2^31
};

// One image.
struct DeformableArgs {
  const DeformableGrid* levels = nullptr;
  int64_t level_count = 0;
  const DeformableGrid* queries = nullptr;  // grids whose rows follow each other
  int64_t query_grids = 0;
  int64_t heads = 0;
  int64_t points = 0;
  int64_t head_dim = 0;           // D
  const float* values = nullptr;  // [positions of all levels, H * D]
  int64_t values_stride = 0;
  const float* offsets = nullptr;  // [queries, H, L, P, (x, y)], from the first query of the image
  int64_t offsets_stride = 0;
  const float* logits = nullptr;  // [queries, H, L, P]
  int64_t logits_stride = 0;
  float* out = nullptr;  // [queries, H * D], overwritten; may not overlap the inputs
  int64_t out_stride = 0;
  // Queries to compute. The bits of one depend on no other.
  int64_t first_query = 0;
  int64_t last_query = 0;
};

// Allocates nothing, starts no threads.
void deformable(const DeformableArgs& args);

}  // namespace vig
