// Memory for a kernel to work in.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "vig/base/buffer.h"

namespace vig::test {

// It holds NaN at first, so that what is read before it is written shows in the result; nothing may
// be written behind its end.
class Scratch {
 public:
  explicit Scratch(size_t floats) : floats_(floats), buffer_((floats + kGuard) * sizeof(float)) {
    std::fill_n(buffer_.floats() + floats_, kGuard, kSentinel);
    spoil();
  }
  float* data() { return buffer_.floats(); }
  void spoil() { std::fill_n(buffer_.floats(), floats_, NAN); }
  bool end_untouched() const {
    const float* end = buffer_.floats() + floats_;
    return std::all_of(end, end + kGuard, [](float x) { return x == kSentinel; });
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr float kSentinel = -12345.0f;
  size_t floats_;
  Buffer buffer_;
};

}  // namespace vig::test
