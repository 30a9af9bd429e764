#include "fuzz/targets.h"
#include "vig/image/label_file.h"

namespace vig::fuzz {

void run_label_map(Bytes bytes) {
  const LabelMap map = decode_label_map(bytes, "x", {.max_pixels = 1 << 10});
  check(map.width > 0 && map.height > 0, "a label map without pixels");
  check(map.labels.size() == static_cast<size_t>(map.width) * static_cast<size_t>(map.height),
        "another size than its labels");
  const std::vector<uint8_t> written = encode_label_map(map, {});
  check(decode_label_map(written, "x") == map, "another label map after writing");
}

}  // namespace vig::fuzz
