// Resizing a learned table of positions: bicubic with coefficient -0.75, half-pixel centres, border
// clamped, no antialiasing, as the published code does.
#pragma once

#include <cstdint>

namespace vig {

struct PositionArgs {
  const float* table = nullptr;  // [rows, cols, channels]
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t channels = 0;
  float* out = nullptr;  // [out_rows, out_cols, channels]
  int64_t out_rows = 0;
  int64_t out_cols = 0;
};

void resize_positions(const PositionArgs& args);
// Cells [first, last) of the result alone, counted row by row, `stride` floats apart; args.out is
// the first of them.
void resize_positions(const PositionArgs& args, int64_t first, int64_t last, int64_t stride);

// Its adjoint, the gradient of the table.
struct PositionBackwardArgs {
  const float* dout = nullptr;  // [out_rows, out_cols, channels]
  int64_t out_rows = 0;
  int64_t out_cols = 0;
  int64_t channels = 0;
  float* dtable = nullptr;  // [rows, cols, channels], overwritten
  int64_t rows = 0;
  int64_t cols = 0;
};

void resize_positions_backward(const PositionBackwardArgs& args);

}  // namespace vig
