#include "vig/kernels/roi_align.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/roi_align.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/roi_axis.h"
#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

// kCount vectors of channels of one cell, `from` the first pixel of its map.
template <size_t kCount, class Load, class Store>
HWY_INLINE void run_cell(const RoiMap& map, const RoiAxis::Cell& y, const RoiAxis::Cell& x,
                         const float* from, float* out, const Load& load, const Store& store) {
  const RowTag d;
  RowVec sums[kCount];
#pragma GCC unroll 4
  for (size_t u = 0; u < kCount; ++u) sums[u] = hn::Zero(d);
  for (int64_t j = 0; j < y.count; ++j) {
    const float* pixel = from + ((y.first + j) * map.width + x.first) * map.stride;
    RowVec row[kCount];
#pragma GCC unroll 4
    for (size_t u = 0; u < kCount; ++u) row[u] = hn::Zero(d);
    for (int64_t i = 0; i < x.count; ++i, pixel += map.stride) {
      const RowVec weight = hn::Set(d, x.weights[i]);
#pragma GCC unroll 4
      for (size_t u = 0; u < kCount; ++u) {
        row[u] = hn::MulAdd(weight, load(pixel + u * kRowLanes), row[u]);
      }
    }
    const RowVec weight = hn::Set(d, y.weights[j]);
#pragma GCC unroll 4
    for (size_t u = 0; u < kCount; ++u) sums[u] = hn::MulAdd(weight, row[u], sums[u]);
  }
#pragma GCC unroll 4
  for (size_t u = 0; u < kCount; ++u) store(sums[u], out + u * kRowLanes);
}

}  // namespace

void run_roi_align(const RoiAlignArgs& args, const RoiAxis& rows, const RoiAxis& columns) {
  const auto load = [](const float* p) HWY_ATTR { return hn::LoadU(RowTag(), p); };
  const auto store = [](RowVec v, float* p) HWY_ATTR { hn::StoreU(v, RowTag(), p); };
  const size_t channels = static_cast<size_t>(args.channels);
  for (int p = 0; p < args.side * args.side; ++p) {
    const RoiAxis::Cell y = rows.cell(p / args.side), x = columns.cell(p % args.side);
    const float* const from = args.map.data;
    float* const out = args.out + p * args.out_stride;
    size_t c = 0;
    for (; c + 4 * kRowLanes <= channels; c += 4 * kRowLanes) {
      run_cell<4>(args.map, y, x, from + c, out + c, load, store);
    }
    for (; c + kRowLanes <= channels; c += kRowLanes) {
      run_cell<1>(args.map, y, x, from + c, out + c, load, store);
    }
    if (c < channels) {
      const size_t rest = channels - c;
      run_cell<1>(
          args.map, y, x, from + c, out + c,
          [rest](const float* at) HWY_ATTR { return load_part(at, rest); },
          [rest](RowVec v, float* at) HWY_ATTR { store_part(v, at, rest); });
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(run_roi_align);

void roi_align(const RoiAlignArgs& args) {
  const float* box = args.box;
  const RoiMap& map = args.map;
  const RoiAxis rows(box[1], box[3], map.scale, args.side, args.sampling_ratio, map.height);
  const RoiAxis columns(box[0], box[2], map.scale, args.side, args.sampling_ratio, map.width);
  HWY_DYNAMIC_DISPATCH(run_roi_align)(args, rows, columns);
}

void roi_align_pyramid(const RoiPyramidArgs& args) {
  RoiAlignArgs one;
  one.map = args.maps[roi_level(args.box, args.finest_scale, args.levels)];
  one.channels = args.channels;
  one.box = args.box;
  one.side = args.side;
  one.sampling_ratio = args.sampling_ratio;
  one.out = args.out;
  one.out_stride = args.out_stride;
  roi_align(one);
}

}  // namespace vig
#endif  // HWY_ONCE
