#include "fuzz/image.h"

#include "vig/image/decode.h"

namespace vig::fuzz {

using namespace std::string_view_literals;

void run_tiff(Bytes bytes) {
  decode_image(bytes, {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv}, open_tiff);
}

}  // namespace vig::fuzz
