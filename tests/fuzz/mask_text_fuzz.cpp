#include "fuzz/targets.h"
#include "vig/image/mask.h"

namespace vig::fuzz {

// Two bytes for the sides, then the text.
void run_mask_text(Bytes bytes) {
  if (bytes.size() < 2) return;
  const Mask mask = mask_from_text("x", as_text(bytes.subspan(2)), bytes[0], bytes[1]);
  uint64_t sum = 0;
  for (const uint32_t run : mask.runs) sum += run;
  check(sum == uint64_t{bytes[0]} * bytes[1], "runs that do not fill the image");
  check(mask_from_text("x", mask_text(mask), mask.width, mask.height) == mask,
        "another mask after writing");
  const Mask again = encode_mask(decode_mask(mask), mask.width, mask.height);
  check(again.area() == mask.area() && again.bounds() == mask.bounds(), "another area");
  check(mask.area() == 0 || mask_iou(mask, again, false) == 1, "no overlap with itself");
}

}  // namespace vig::fuzz
