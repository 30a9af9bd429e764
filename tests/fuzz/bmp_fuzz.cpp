#include "fuzz/image.h"

#include "vig/image/decode.h"

namespace vig::fuzz {

using namespace std::string_view_literals;

void run_bmp(Bytes bytes) { decode_image(bytes, {"BM"sv}, open_bmp); }

}  // namespace vig::fuzz
