#include "vig/tasks/jpeg_uri.h"

#include <algorithm>
#include <string_view>

namespace vig {
namespace {

// Four characters for each three bytes, the last filled up with '='.
std::string base64(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j) bits = (bits << 8) | (j < count ? bytes[i + j] : 0u);
    for (size_t j = 0; j < 4; ++j) {
      text += j <= count ? kDigits[(bits >> (18 - 6 * j)) & 63] : '=';
    }
  }
  return text;
}

}  // namespace

std::string jpeg_uri(std::span<const uint8_t> jpeg) {
  return "data:image/jpeg;base64," + base64(jpeg);
}

std::string png_uri(std::span<const uint8_t> png) { return "data:image/png;base64," + base64(png); }

}  // namespace vig
