#include "vig/kernels/window_attention.h"

#include <algorithm>

namespace vig {
namespace {

// The shifted map falls apart along each axis into three: what its last window does not hold, what
// came to that window from before it, and what the shift brought around from the other end.
int32_t part(int64_t at, int64_t padded, int64_t window, int64_t shift) {
  return at < padded - window ? 0 : at < padded - shift ? 1 : 2;
}

// Calls f(row of the table, head, offset in bias) for every element of bias.
template <class F>
void for_each_bias(int64_t wh, int64_t ww, int64_t heads, const F& f) {
  const int64_t n = wh * ww;
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const int64_t y = i / ww - j / ww + wh - 1;
        const int64_t x = i % ww - j % ww + ww - 1;
        f((y * (2 * ww - 1) + x) * heads + h, (h * n + i) * n + j);
      }
    }
  }
}

}  // namespace

void window_tokens(const AttentionWindows& windows, int64_t index, int32_t* rows, int32_t* labels) {
  const AttentionWindows& w = windows;
  const int64_t top = index / w.across() * w.window_height;
  const int64_t left = index % w.across() * w.window_width;
  for (int64_t t = 0; t < w.tokens(); ++t) {
    const int64_t y = top + t / w.window_width, x = left + t % w.window_width;
    const bool inside = y < w.height && x < w.width;
    const int64_t row = (y + w.shift_y) % w.height * w.width + (x + w.shift_x) % w.width;
    rows[t] = inside ? static_cast<int32_t>(row) : -1;
    if (labels != nullptr) {
      labels[t] = 3 * part(y, w.down() * w.window_height, w.window_height, w.shift_y) +
                  part(x, w.across() * w.window_width, w.window_width, w.shift_x);
    }
  }
}

void relative_bias(const float* table, int64_t window_height, int64_t window_width, int64_t heads,
                   float* bias) {
  for_each_bias(window_height, window_width, heads,
                [&](int64_t from, int64_t to) { bias[to] = table[from]; });
}

void relative_bias_backward(const float* dbias, int64_t window_height, int64_t window_width,
                            int64_t heads, float* dtable) {
  std::fill_n(dtable, (2 * window_height - 1) * (2 * window_width - 1) * heads, 0.0f);
  for_each_bias(window_height, window_width, heads,
                [&](int64_t to, int64_t from) { dtable[to] += dbias[from]; });
}

}  // namespace vig
