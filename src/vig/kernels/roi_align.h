// RoIAlign: the mean of a map in each cell of a box, by bilinear samples ("aligned" form).
//
// A map [height, width, C]; a box (x1, y1, x2, y2) in pixels of the image, of which a pixel of
// the map spans 1 / scale; n x n cells. Per axis:
//   start = x1 scale - 0.5,  length = x2 scale - 0.5 - start,  cell = length / n,  in float32
//   g = sampling_ratio, or ceil(cell) where that is 0, samples of a cell, at
//   start + (p + (k + 0.5) / g) cell for cell p and sample k.
// A sample outside of [-1, size] counts 0; others are clamped to [0, size - 1], so that the border
// is repeated. A cell is the mean of its g_y g_x samples, 0 where there are none. The axes are
// independent, hence a cell is a sum over pixels of weight_y weight_x map.
#pragma once

#include <cstdint>

namespace vig {

// One level of a pyramid.
struct RoiMap {
  const float* data = nullptr;  // [height * width, C]
  int64_t stride = 0;           // between positions
  int64_t height = 0;
  int64_t width = 0;
  float scale = 1.0f;  // 1 / stride of the level in the image
};

struct RoiAlignArgs {
  RoiMap map;
  int64_t channels = 0;  // C; any range of them gives the same bits
  const float* box = nullptr;
  int side = 7;            // n
  int sampling_ratio = 0;  // 0: as many samples as pixels
  float* out = nullptr;    // [n * n, C], overwritten
  int64_t out_stride = 0;
};

// One box. Time is bounded by the size of the map and n^2 for any box; a box that is not
// finite gives 0. Allocates its table of weights; starts no threads.
void roi_align(const RoiAlignArgs& args);

// The level of a pyramid that holds the features of a box:
// floor(log2(sqrt(width height) / finest_scale + 1e-6)), within [0, levels).
int roi_level(const float* box, float finest_scale, int levels);

// Features of one box from the level of its size. Boxes are independent: callers divide them among
// threads.
struct RoiPyramidArgs {
  const RoiMap* maps = nullptr;  // [levels], from fine to coarse
  int levels = 0;
  float finest_scale = 56.0f;
  int64_t channels = 0;
  const float* box = nullptr;
  int side = 7;
  int sampling_ratio = 0;
  float* out = nullptr;  // [n * n, C], overwritten
  int64_t out_stride = 0;
};
void roi_align_pyramid(const RoiPyramidArgs& args);

// The weights of one axis, [n, size], zero outside of a cell's pixels: rows give the n cells.
void roi_axis_weights(float low, float high, float scale, int side, int sampling_ratio,
                      int64_t size, float* weights);

}  // namespace vig
