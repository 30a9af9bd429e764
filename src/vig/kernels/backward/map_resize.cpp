#include "vig/kernels/backward/map_resize.h"

#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/backward/map_resize.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// A line of the result, and its share of a line of the map.
struct MapShare {
  int64_t line;
  float weight;
};

// For each of `count` lines of the map the lines of the result that read it, in their order.
std::vector<std::vector<MapShare>> map_shares(const std::vector<MapTap>& taps, int64_t count) {
  std::vector<std::vector<MapShare>> shares(static_cast<size_t>(count));
  for (size_t i = 0; i < taps.size(); ++i) {
    const int64_t line = static_cast<int64_t>(i);
    shares[static_cast<size_t>(taps[i].first)].push_back({line, 1.0f - taps[i].weight});
    if (taps[i].second == taps[i].first) continue;
    shares[static_cast<size_t>(taps[i].second)].push_back({line, taps[i].weight});
  }
  return shares;
}

void gather_gradients(const MapResizeBackwardArgs& args) {
  const RowTag d;
  const MapGrids& g = *args.grids;
  const auto lines = map_shares(g.lines, g.height), columns = map_shares(g.columns, g.width);
  const int64_t channels = args.channels, line_floats = g.out_width() * channels;
  float* dx = args.dx;
  for (int64_t image = 0; image < args.batch; ++image) {
    const float* dy = args.dy + image * g.out_height() * line_floats;
    for (const auto& of_line : lines) {
      for (const auto& of_column : columns) {
        for_each_vector(static_cast<size_t>(channels), [&](size_t c, const auto& load,
                                                           const auto& store) HWY_ATTR {
          RowVec sum = hn::Zero(d);
          for (const MapShare& i : of_line) {
            const float* from = dy + i.line * line_floats + c;
            RowVec along = hn::Zero(d);
            for (const MapShare& j : of_column) {
              along = hn::MulAdd(hn::Set(d, j.weight), load(from + j.line * channels), along);
            }
            sum = hn::MulAdd(hn::Set(d, i.weight), along, sum);
          }
          store(sum, dx + c);
        });
        dx += channels;
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(gather_gradients);

void map_resize_backward(const MapResizeBackwardArgs& args) {
  HWY_DYNAMIC_DISPATCH(gather_gradients)(args);
}

}  // namespace vig
#endif  // HWY_ONCE
