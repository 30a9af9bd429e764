#include "fuzz/image.h"

#include "vig/image/decode.h"

namespace vig::fuzz {

using namespace std::string_view_literals;

void run_png(Bytes bytes) { decode_image(bytes, {"\x89PNG\r\n\x1A\n"sv}, open_png); }

}  // namespace vig::fuzz
