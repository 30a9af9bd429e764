// The windows of a convolution or a pooling, for kernels.
#pragma once

#include "vig/graph/graph.h"
#include "vig/kernels/conv.h"

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

}  // namespace vig
