#include "vig/kernels/position.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace vig {
namespace {

// The four source lines of one output line and their weights.
struct Taps {
  std::array<int64_t, 4> index;
  std::array<float, 4> weight;
};

Taps taps(int64_t out, int64_t out_size, int64_t in_size) {
  constexpr float kA = -0.75f;
  const float scale = static_cast<float>(in_size) / static_cast<float>(out_size);
  const float at = (static_cast<float>(out) + 0.5f) * scale - 0.5f;
  const float floor = std::floor(at);
  const float t = at - floor;
  const auto near = [](float x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](float x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  Taps result;
  result.weight = {far(t + 1), near(t), near(1 - t), far(2 - t)};
  for (int i = 0; i < 4; ++i) {
    result.index[i] = std::clamp<int64_t>(static_cast<int64_t>(floor) - 1 + i, 0, in_size - 1);
  }
  return result;
}

}  // namespace

void resize_positions(const PositionArgs& args) {
  resize_positions(args, 0, args.out_rows * args.out_cols, args.channels);
}

void resize_positions(const PositionArgs& args, int64_t first, int64_t last, int64_t stride) {
  float* out = args.out;
  for (int64_t cell = first; cell < last; ++cell, out += stride) {
    const Taps ty = taps(cell / args.out_cols, args.out_rows, args.rows);
    const Taps tx = taps(cell % args.out_cols, args.out_cols, args.cols);
    for (int64_t c = 0; c < args.channels; ++c) {
      float sum = 0.0f;
      for (int i = 0; i < 4; ++i) {
        float line = 0.0f;
        for (int j = 0; j < 4; ++j) {
          line += tx.weight[j] *
                  args.table[(ty.index[i] * args.cols + tx.index[j]) * args.channels + c];
        }
        sum += ty.weight[i] * line;
      }
      out[c] = sum;
    }
  }
}

void resize_positions_backward(const PositionBackwardArgs& args) {
  std::fill_n(args.dtable, args.rows * args.cols * args.channels, 0.0f);
  for (int64_t y = 0; y < args.out_rows; ++y) {
    const Taps ty = taps(y, args.out_rows, args.rows);
    for (int64_t x = 0; x < args.out_cols; ++x) {
      const Taps tx = taps(x, args.out_cols, args.cols);
      const float* dout = args.dout + (y * args.out_cols + x) * args.channels;
      for (int tap = 0; tap < 16; ++tap) {
        const int i = tap / 4, j = tap % 4;
        const float weight = ty.weight[i] * tx.weight[j];
        float* to = args.dtable + (ty.index[i] * args.cols + tx.index[j]) * args.channels;
        for (int64_t c = 0; c < args.channels; ++c) to[c] += weight * dout[c];
      }
    }
  }
}

}  // namespace vig
