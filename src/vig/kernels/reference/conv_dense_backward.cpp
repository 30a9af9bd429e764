#include "vig/kernels/reference/conv_dense_backward.h"

#include <vector>

namespace vig::reference {
namespace {

// Calls f(output element, input element, weight element in published order) for every product of
// these rows.
template <class F>
void for_each_product(const ConvShape& s, int64_t first_row, int64_t last_row, const F& f) {
  const Windows& w = s.windows;
  for (int64_t row = first_row; row < last_row; ++row) {
    const int64_t image = row / s.positions();
    for (int64_t tap = 0; tap < s.area(); ++tap) {
      const int64_t y = row / w.width % w.height * w.stride - w.top + tap / w.kernel;
      const int64_t x = row % w.width * w.stride - w.left + tap % w.kernel;
      if (y < 0 || y >= s.in.height || x < 0 || x >= s.in.width) continue;
      const int64_t pixel = ((image * s.in.height + y) * s.in.width + x) * s.in.channels;
      for (int64_t o = 0; o < s.out_channels; ++o) {
        const int64_t group = o / s.group_outputs();
        for (int64_t c = 0; c < s.group_inputs(); ++c) {
          f(row * s.out_channels + o, pixel + group * s.group_inputs() + c,
            (o * s.group_inputs() + c) * s.area() + tap);
        }
      }
    }
  }
}

}  // namespace

void conv_input_backward(const float* weight, const ConvInputBackwardArgs& args) {
  const ConvShape& s = args.shape;
  const int64_t size = s.in.height * s.in.width * s.in.channels;
  std::vector<double> sums(static_cast<size_t>(args.last_image * size));
  for_each_product(s, args.first_image * s.positions(), args.last_image * s.positions(),
                   [&](int64_t out, int64_t in, int64_t w) {
                     sums[static_cast<size_t>(in)] += static_cast<double>(args.dy[out]) * weight[w];
                   });
  for (int64_t i = args.first_image * size; i < args.last_image * size; ++i) {
    args.dx[i] = static_cast<float>(sums[static_cast<size_t>(i)]);
  }
}

void conv_weight_backward(const ConvWeightBackwardArgs& args) {
  const ConvShape& s = args.shape;
  const int64_t area = s.area(), inputs = s.group_inputs();
  std::vector<double> sums(static_cast<size_t>(s.out_channels * s.taps()));
  for_each_product(s, args.first_row, args.last_row, [&](int64_t out, int64_t in, int64_t w) {
    sums[static_cast<size_t>(w)] += static_cast<double>(args.dy[out]) * args.in[in];
  });
  for (int64_t o = 0; o < s.out_channels; ++o) {
    for (int64_t c = 0; c < inputs; ++c) {
      for (int64_t tap = 0; tap < area; ++tap) {
        float& to = args.dweight[(o * area + tap) * inputs + c];
        to = static_cast<float>(to + sums[static_cast<size_t>((o * inputs + c) * area + tap)]);
      }
    }
  }
}

}  // namespace vig::reference
