#include "vig/kernels/reference/roi_align.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vig::reference {
namespace {

// The samples of one axis in one cell.
struct Axis {
  Axis(float low, float high, float scale, int side, int sampling_ratio)
      : start(low * scale - 0.5f),
        cell((high * scale - 0.5f - start) / static_cast<float>(side)),
        samples(sampling_ratio > 0 ? sampling_ratio
                                   : std::max(0, static_cast<int>(std::ceil(cell)))) {}
  double position(int p, int k) const { return start + (p + (k + 0.5) / samples) * cell; }

  float start, cell;
  int samples;
};

// Calls f(position in the map, weight) for the pixels of one sample.
template <class F>
void for_each_pixel(const RoiMap& map, double y, double x, const F& f) {
  if (y < -1.0 || y > static_cast<double>(map.height)) return;
  if (x < -1.0 || x > static_cast<double>(map.width)) return;
  y = std::clamp(y, 0.0, static_cast<double>(map.height - 1));
  x = std::clamp(x, 0.0, static_cast<double>(map.width - 1));
  const auto top = static_cast<int64_t>(y), left = static_cast<int64_t>(x);
  for (const int64_t down : {0, 1}) {
    for (const int64_t right : {0, 1}) {
      const double weight =
          (down == 1 ? y - static_cast<double>(top) : 1.0 - (y - static_cast<double>(top))) *
          (right == 1 ? x - static_cast<double>(left) : 1.0 - (x - static_cast<double>(left)));
      if (weight != 0.0) f((top + down) * map.width + left + right, weight);
    }
  }
}

// Calls f(cell, position in the map, weight), the weight divided by the number of samples.
template <class F>
void for_each_weight(const RoiAlignArgs& args, const F& f) {
  const Axis rows(args.box[1], args.box[3], args.map.scale, args.side, args.sampling_ratio);
  const Axis columns(args.box[0], args.box[2], args.map.scale, args.side, args.sampling_ratio);
  const double samples = static_cast<double>(rows.samples) * columns.samples;
  for (int p = 0; p < args.side * args.side; ++p) {
    for (int j = 0; j < rows.samples; ++j) {
      for (int i = 0; i < columns.samples; ++i) {
        const double y = rows.position(p / args.side, j), x = columns.position(p % args.side, i);
        for_each_pixel(args.map, y, x,
                       [&](int64_t at, double weight) { f(p, at, weight / samples); });
      }
    }
  }
}

}  // namespace

void roi_align(const RoiAlignArgs& args) {
  for (int64_t c = 0; c < args.channels; ++c) {
    std::vector<double> sums(static_cast<size_t>(args.side * args.side), 0.0);
    for_each_weight(args, [&](int p, int64_t at, double weight) {
      sums[static_cast<size_t>(p)] += weight * args.map.data[at * args.map.stride + c];
    });
    for (size_t p = 0; p < sums.size(); ++p) {
      args.out[static_cast<int64_t>(p) * args.out_stride + c] = static_cast<float>(sums[p]);
    }
  }
}

void roi_align_backward(const RoiAlignBackwardArgs& args) {
  const RoiMap& map = args.forward.map;
  for (int64_t c = 0; c < args.forward.channels; ++c) {
    std::vector<double> sums(static_cast<size_t>(map.height * map.width), 0.0);
    for_each_weight(args.forward, [&](int p, int64_t at, double weight) {
      sums[static_cast<size_t>(at)] += weight * args.grad_out[p * args.grad_out_stride + c];
    });
    for (size_t i = 0; i < sums.size(); ++i) {
      args.dmap[static_cast<int64_t>(i) * args.dmap_stride + c] += static_cast<float>(sums[i]);
    }
  }
}

}  // namespace vig::reference
