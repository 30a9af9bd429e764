// Boxes as deltas against other boxes, which is what a detector learns.
#pragma once

#include <array>

#include "vig/image/box.h"

namespace vig {

using BoxDeltas = std::array<float, 4>;  // of the centre (x, y), of the logarithms of both sides

// With centres c and sides w, h: ((box.cx - anchor.cx) / anchor.w, (box.cy - anchor.cy) / anchor.h,
// ln(box.w / anchor.w), ln(box.h / anchor.h)), each divided by its `std`.
BoxDeltas encode_box(const Box& box, const Box& anchor, const BoxDeltas& std);

// The inverse. No side becomes more than 62.5 times as long as the anchor's, nor as short.
Box decode_box(const BoxDeltas& deltas, const Box& anchor, const BoxDeltas& std);

// The part inside [0, width] x [0, height].
Box clip_box(const Box& box, float width, float height);

}  // namespace vig
