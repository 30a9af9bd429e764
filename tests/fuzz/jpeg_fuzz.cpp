#include "fuzz/image.h"

#include "vig/image/decode.h"

namespace vig::fuzz {

using namespace std::string_view_literals;

void run_jpeg(Bytes bytes) { decode_image(bytes, {"\xFF\xD8\xFF"sv}, open_jpeg); }

}  // namespace vig::fuzz
