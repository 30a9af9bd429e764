// A sampling of deformable attention with operands at odd offsets and gaps between rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/sheet.h"
#include "vig/kernels/backward/deformable.h"

namespace vig::test {

struct DeformableShapes {
  std::vector<DeformableGrid> levels, queries;
  int64_t heads = 1;
  int64_t points = 1;
  int64_t head_dim = 1;

  static int64_t positions(const std::vector<DeformableGrid>& grids) {
    int64_t count = 0;
    for (const DeformableGrid& grid : grids) count += grid.height * grid.width;
    return count;
  }
  int64_t samples() const { return heads * static_cast<int64_t>(levels.size()) * points; }
};

struct DeformableCase : DeformableShapes {
  explicit DeformableCase(const DeformableShapes& shapes)
      : DeformableShapes(shapes),
        values(positions(levels), heads * head_dim, 3, 1),
        offsets(positions(queries), 2 * samples(), 1, 3),
        logits(positions(queries), samples(), 2, 1) {
    // Some samples leave the map.
    values.noise(1);
    offsets.noise(2, -2.5f, 2.5f);
    logits.noise(3, -3.0f, 3.0f);
  }
  Sheet output() const { return Sheet(positions(queries), heads * head_dim, 5, 1); }

  DeformableArgs args(Sheet& out) const {
    DeformableArgs args;
    args.levels = levels.data();
    args.level_count = static_cast<int64_t>(levels.size());
    args.queries = queries.data();
    args.query_grids = static_cast<int64_t>(queries.size());
    args.heads = heads;
    args.points = points;
    args.head_dim = head_dim;
    args.values = values.data();
    args.values_stride = values.stride;
    args.offsets = offsets.data();
    args.offsets_stride = offsets.stride;
    args.logits = logits.data();
    args.logits_stride = logits.stride;
    args.out = out.data();
    args.out_stride = out.stride;
    args.last_query = positions(queries);
    return args;
  }
  std::string name() const {
    return std::to_string(levels.size()) + " levels, H " + std::to_string(heads) + ", P " +
           std::to_string(points) + ", D " + std::to_string(head_dim);
  }

  Sheet values, offsets, logits;
};

// Maps and grids of all proportions; head widths around those of vectors; more samples than the
// kernel takes at a time.
inline std::vector<DeformableShapes> deformable_shapes() {
  return {
      {{{1, 1}}, {{1, 1}}, 1, 1, 1},
      {{{3, 4}}, {{2, 5}}, 2, 3, 7},
      {{{1, 9}, {6, 1}}, {{3, 1}, {1, 4}}, 1, 4, 16},
      {{{8, 12}, {4, 6}, {2, 3}}, {{4, 6}}, 6, 4, 32},
      {{{4, 6}}, {{8, 12}, {4, 6}, {2, 3}}, 3, 4, 33},
      {{{5, 7}, {3, 2}}, {{3, 3}}, 2, 5, 64},
      {{{5, 7}, {3, 2}}, {{2, 2}}, 2, 1, 83},
      {{{4, 3}, {2, 5}, {7, 1}}, {{2, 3}}, 2, 43, 5},
  };
}

}  // namespace vig::test
