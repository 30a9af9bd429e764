// Masks of objects as run lengths, in the form of COCO.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/image/image.h"

namespace vig {

// pixels[y * width + x], where anything but 0 counts as 1.
Mask encode_mask(std::span<const uint8_t> pixels, int width, int height);
// What decode_mask(mask) gives, of a part of the image, in time that its ones and the part take.
std::vector<uint8_t> decode_mask(const Mask& mask, int left, int top, int width, int height);

// COCO's compressed text for the runs. Reading throws Error where the text is none, or its runs do
// not fill the image; `where` begins the message.
std::string mask_text(const Mask& mask);
Mask mask_from_text(const std::string& where, std::string_view text, int width, int height);

// A polygon x0, y0, x1, y1, ... filled by COCO's rule.
Mask polygon_mask(std::span<const double> corners, int width, int height);
Mask unite(std::span<const Mask> masks);  // of one size; at least one
// Overlap over union in double; where `b` is a crowd, over the area of `a`. Throws Error where the
// sizes of the masks differ.
double mask_iou(const Mask& a, const Mask& b, bool b_is_crowd);

}  // namespace vig
