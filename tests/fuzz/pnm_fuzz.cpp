#include "fuzz/image.h"

#include "vig/image/decode.h"

namespace vig::fuzz {

using namespace std::string_view_literals;

void run_pnm(Bytes bytes) {
  decode_image(bytes, {"P1"sv, "P2"sv, "P3"sv, "P4"sv, "P5"sv, "P6"sv}, open_pnm);
}

}  // namespace vig::fuzz
