// The windows of a convolution or a pooling, for kernels.
#pragma once

#include <algorithm>

#include "vig/graph/graph.h"
#include "vig/kernels/conv.h"
#include "vig/runtime/kernel_call.h"

namespace vig {

template <class Op>
Windows windows_of(const Op& op, const Grid& in, const Grid& out) {
  return {op.kernel,
          op.stride,
          window_padding(in.height, op.kernel, op.stride, op.padding),
          window_padding(in.width, op.kernel, op.stride, op.padding),
          out.height,
          out.width};
}

// The rows of a grid between the first and the last that windows [first, last) see.
inline RowRange seen_rows(const Windows& windows, const Grid& in, const RowRange& rows) {
  const auto corner = [&](int64_t at, int64_t before) { return at * windows.stride - before; };
  const int64_t last = rows.last - 1;
  const int64_t top = corner(rows.first / windows.width, windows.top);
  const int64_t left = corner(rows.first % windows.width, windows.left);
  const int64_t bottom = corner(last / windows.width, windows.top) + windows.kernel - 1;
  const int64_t right = corner(last % windows.width, windows.left) + windows.kernel - 1;
  RowRange seen{0, in.positions()};
  // Windows that the border of the grid cuts may see as much of the border's line as others.
  if (top >= 0) seen.first = std::min(seen.last, top * in.width + std::max<int64_t>(0, left));
  if (bottom < in.height) {
    seen.last = bottom * in.width + std::min<int64_t>(in.width, right + 1);
  }
  return seen;
}

}  // namespace vig
