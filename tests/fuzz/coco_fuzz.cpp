#include "fuzz/targets.h"
#include "vig/data/coco.h"

namespace vig::fuzz {

void run_coco(Bytes bytes) {
  const size_t objects = parse_coco_text("x", as_text(bytes));
  check(objects <= bytes.size(), "more objects than bytes");
}

}  // namespace vig::fuzz
