#include "fuzz/image.h"

#include "vig/image/decode.h"

namespace vig::fuzz {

using namespace std::string_view_literals;

void run_webp(Bytes bytes) { decode_image(bytes, {"RIFF????WEBP"sv}, open_webp); }

}  // namespace vig::fuzz
