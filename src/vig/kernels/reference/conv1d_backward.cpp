#include "vig/kernels/reference/conv1d_backward.h"

#include <cstddef>
#include <vector>

#include "vig/kernels/reference/activations.h"

namespace vig::reference {

void conv1d_backward(const Conv1dBackwardArgs& args) {
  const Conv1dArgs& conv = args.conv;
  const int64_t tokens = conv.last, width = conv.width;
  for (int64_t e = 0; e < conv.channels; ++e) {
    const auto input = [&](int64_t n) {
      const float* row = n < 0 ? nullptr : conv.in.row(n);
      return row == nullptr ? 0.0 : row[e];
    };
    std::vector<double> dx(static_cast<size_t>(tokens), 0.0);
    std::vector<double> dtaps(static_cast<size_t>(width), 0.0);
    double dbias = 0.0;
    for (int64_t n = 0; n < tokens; ++n) {
      double sum = conv.bias == nullptr ? 0.0 : conv.bias[e];
      for (int64_t j = 0; j < width; ++j) {
        sum += conv.taps[j * conv.taps_stride + e] * input(n - (width - 1) + j);
      }
      const float* dy = args.dy.row(n);
      const double s = dy == nullptr ? 0.0 : dy[e] * slope(conv.function, sum);
      dbias += s;
      for (int64_t j = 0; j < width; ++j) {
        const int64_t from = n - (width - 1) + j;
        dtaps[static_cast<size_t>(j)] += s * input(from);
        if (from < 0) continue;
        dx[static_cast<size_t>(from)] += s * conv.taps[j * conv.taps_stride + e];
      }
    }
    for (int64_t n = 0; n < tokens; ++n) {
      float* row = args.dx.row(n);
      if (row != nullptr) row[e] = static_cast<float>(row[e] + dx[static_cast<size_t>(n)]);
    }
    for (int64_t j = 0; j < width; ++j) {
      float& to = args.dtaps[j * args.dtaps_stride + e];
      to = static_cast<float>(to + dtaps[static_cast<size_t>(j)]);
    }
    if (args.dbias != nullptr) args.dbias[e] = static_cast<float>(args.dbias[e] + dbias);
  }
}

}  // namespace vig::reference
