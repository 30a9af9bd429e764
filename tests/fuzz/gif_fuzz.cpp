#include "fuzz/image.h"

#include "vig/image/decode.h"

namespace vig::fuzz {

using namespace std::string_view_literals;

void run_gif(Bytes bytes) { decode_image(bytes, {"GIF8"sv}, open_gif); }

}  // namespace vig::fuzz
