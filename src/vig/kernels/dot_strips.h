// Strips of the integer product with instructions that add four products of bytes to a 32-bit sum:
// VNNI with vectors of 64 or 32 bytes, and Arm's SDOT. Highway has no target that is only this, so
// they are compiled apart and taken at run time where the processor has them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vig {

// One strip: sums[r, j] = start[j] + sum over i of a[r, i] w[j, i], both vectors of a panel.
struct DotArgs {
  const uint8_t* a = nullptr;  // codes, rows lda bytes apart
  size_t lda = 0;
  const int8_t* weight = nullptr;  // [groups, columns of the panel, 4]
  size_t groups = 0;
  const int32_t* start = nullptr;  // -128 times the sum of each column's weights
  int32_t* sums = nullptr;         // rows a panel apart
  const char* ahead = nullptr;     // asked for meanwhile, one address a group
  size_t ahead_step = 0;
};
using DotStrip = void (*)(const DotArgs&);

// By rows - 1: one vector wide, for a last panel of few columns, and two. Null where the processor
// does not have the instructions.
struct DotStrips {
  const DotStrip* narrow = nullptr;
  const DotStrip* wide = nullptr;
};
DotStrips vnni512_strips();  // of up to 14 rows, panels of 32 columns
DotStrips vnni256_strips();  // 6, 16
DotStrips sdot_strips();     // 14, 8

// Whether these strips are used where the processor has them (default: yes). Call it while no
// kernel runs.
void allow_dot_strips(bool allowed);

}  // namespace vig
