#include "vig/kernels/reference/q_shift.h"

#include <cstddef>
#include <vector>

namespace vig::reference {
namespace {

// The token whose channel c comes to token t; -1: none.
template <class Args>
int64_t neighbour(const Args& args, int64_t t, int64_t c) {
  int64_t y = t / args.width, x = t % args.width;
  if (c < args.channels / 4) {
    --x;
  } else if (c < 2 * args.channels / 4) {
    ++x;
  } else if (c < 3 * args.channels / 4) {
    --y;
  } else {
    ++y;
  }
  const bool inside = y >= 0 && y < args.height && x >= 0 && x < args.width;
  return inside ? y * args.width + x : -1;
}

template <class Args>
double shifted(const Args& args, int64_t t, int64_t c) {
  const int64_t from = neighbour(args, t, c);
  return from < 0 ? 0.0 : args.in[from * args.in_stride + c];
}

}  // namespace

void q_shift_mix(const QShiftArgs& args) {
  for (int64_t t = args.first_row; t < args.last_row; ++t) {
    for (int64_t c = 0; c < args.channels; ++c) {
      const double x = args.in[t * args.in_stride + c], s = shifted(args, t, c);
      for (int n = 0; n < args.mixes; ++n) {
        const double m = args.mix[n][c];
        args.out[n][(t - args.first_row) * args.out_stride + c] =
            static_cast<float>(x * m + s * (1.0 - m));
      }
    }
  }
}

void q_shift_mix_backward(const QShiftBackwardArgs& args) {
  const int64_t tokens = args.height * args.width;
  for (int64_t c = 0; c < args.channels; ++c) {
    std::vector<double> dx(static_cast<size_t>(tokens), 0.0);
    for (int n = 0; n < args.mixes; ++n) {
      const double m = args.mix[n][c];
      double dmix = 0.0;
      for (int64_t t = 0; t < tokens; ++t) {
        const double dout = args.dout[n][t * args.dout_stride + c];
        dx[static_cast<size_t>(t)] += dout * m;
        const int64_t from = neighbour(args, t, c);
        if (from >= 0) dx[static_cast<size_t>(from)] += dout * (1.0 - m);
        if (args.in == nullptr || t < args.first_row || t >= args.last_row) continue;
        dmix += dout * (args.in[t * args.in_stride + c] - shifted(args, t, c));
      }
      if (args.in != nullptr) args.dmix[n][c] += static_cast<float>(dmix);
    }
    for (int64_t t = args.first_row; t < args.last_row; ++t) {
      args.dx[(t - args.first_row) * args.dx_stride + c] =
          static_cast<float>(dx[static_cast<size_t>(t)]);
    }
  }
}

}  // namespace vig::reference
