#include "fuzz/targets.h"
#include "vig/image/exif.h"

namespace vig::fuzz {

void run_exif(Bytes bytes) {
  const int orientation = exif_orientation(bytes);
  check(orientation >= 1 && orientation <= 8, "an unknown orientation");
}

}  // namespace vig::fuzz
