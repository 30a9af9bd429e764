// A sequence of rows in the order in which a kernel takes them, without a copy in that order.
#pragma once

#include <cstdint>

namespace vig {

// Token n has row index[n], or none where that is negative; without an index it has row n. Rows are
// `stride` floats apart: with a negative stride and the last row as `data`, a sequence runs
// backward.
template <class T>
struct BasicSequence {
  T* data = nullptr;
  int64_t stride = 0;
  const int32_t* index = nullptr;

  // Null if the token has no row.
  T* row(int64_t n) const {
    if (index == nullptr) return data + n * stride;
    return index[n] < 0 ? nullptr : data + index[n] * stride;
  }
};

using Sequence = BasicSequence<const float>;
using MutableSequence = BasicSequence<float>;

}  // namespace vig
