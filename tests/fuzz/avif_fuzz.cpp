#include "fuzz/image.h"

#include "vig/image/decode.h"

namespace vig::fuzz {

using namespace std::string_view_literals;

void run_avif(Bytes bytes) {
  decode_image(bytes, {"????ftypavi"sv, "????ftypmif1"sv}, open_heif, 1 << 13);
}

}  // namespace vig::fuzz
