// Attention in windows of a map, as Swin has it: which tokens a window holds, which of them were
// neighbours before the map was shifted, and the bias that depends on where one token lies from
// another. kernels/attention.h takes all three.
#pragma once

#include <cstdint>

namespace vig {

// A map [height, width], shifted (token (y, x) of the shifted map is (y + shift_y, x + shift_x) of
// the map, modulo its size), then padded at the bottom and on the right to whole windows.
struct AttentionWindows {
  int64_t height = 0;
  int64_t width = 0;
  int64_t window_height = 0;
  int64_t window_width = 0;
  int64_t shift_y = 0;
  int64_t shift_x = 0;

  int64_t down() const { return (height + window_height - 1) / window_height; }
  int64_t across() const { return (width + window_width - 1) / window_width; }
  int64_t count() const { return down() * across(); }
  int64_t tokens() const { return window_height * window_width; }  // n, of each window
};

// The n tokens of window `index`, row by row: their rows in the map (-1: padded), and labels that
// differ where two tokens of the window were no neighbours in the map. `labels` may be null.
void window_tokens(const AttentionWindows& windows, int64_t index, int32_t* rows, int32_t* labels);

// bias[h, i, j] = table[(yi - yj + wh - 1) (2 ww - 1) + xi - xj + ww - 1, h], (y, x) the position
// of a token in its window: table [(2 wh - 1) (2 ww - 1), heads], bias [heads, n, n].
void relative_bias(const float* table, int64_t window_height, int64_t window_width, int64_t heads,
                   float* bias);
// Its adjoint, the gradient of the table, overwritten.
void relative_bias_backward(const float* dbias, int64_t window_height, int64_t window_width,
                            int64_t heads, float* dtable);

}  // namespace vig
