#include "vig/image/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/exif.h"
#include "vig/image/formats.h"
#include "vig/kernels/resize.h"

namespace vig {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kSupported = "JPEG, PNG, WebP and TIFF";
constexpr std::string_view kExtensions[] = {".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff"};

using Decoder = StoredImage (*)(std::span<const uint8_t>, const std::string&, const DecodeOptions&);

// How files begin; '?' stands for any byte.
struct Signature {
  std::string_view bytes;
  std::string_view format;
  Decoder decoder;  // null: known, but not supported
};

constexpr Signature kSignatures[] = {
    {"\xFF\xD8\xFF"sv, "JPEG", decode_jpeg},
    {"\x89PNG\r\n\x1A\n"sv, "PNG", decode_png},
    {"RIFF????WEBP"sv, "WebP", decode_webp},
    {"II*\0"sv, "TIFF", decode_tiff},
    {"MM\0*"sv, "TIFF", decode_tiff},
    {"II+\0"sv, "TIFF", decode_tiff},
    {"MM\0+"sv, "TIFF", decode_tiff},
    {"BM"sv, "BMP", nullptr},
    {"GIF8"sv, "GIF", nullptr},
    {"P1\n"sv, "PBM", nullptr},
    {"P2\n"sv, "PGM", nullptr},
    {"P3\n"sv, "PPM", nullptr},
    {"P4\n"sv, "PBM", nullptr},
    {"P5\n"sv, "PGM", nullptr},
    {"P6\n"sv, "PPM", nullptr},
    {"8BPS"sv, "Photoshop", nullptr},
    {"????ftypavif"sv, "AVIF", nullptr},
    {"????ftyphei"sv, "HEIC", nullptr},
    {"????ftypmif1"sv, "HEIF", nullptr},
    {"\xFF\x0A"sv, "JPEG XL", nullptr},
    {"\0\0\0\x0CJXL "sv, "JPEG XL", nullptr},
    {"\0\0\0\x0CjP  "sv, "JPEG 2000", nullptr},
    {"\x1F\x8B"sv, "gzip", nullptr},
    {"%PDF"sv, "PDF", nullptr},
    {"version https://git-lfs"sv, "Git LFS pointer", nullptr},
};

bool matches(std::span<const uint8_t> bytes, std::string_view signature) {
  if (bytes.size() < signature.size()) return false;
  for (size_t i = 0; i < signature.size(); ++i) {
    if (signature[i] != '?' && bytes[i] != static_cast<uint8_t>(signature[i])) return false;
  }
  return true;
}

Decoder find_decoder(std::span<const uint8_t> bytes, const std::string& name) {
  for (const Signature& signature : kSignatures) {
    if (!matches(bytes, signature.bytes)) continue;
    if (signature.decoder != nullptr) return signature.decoder;
    fail("{}: a {} file; supported pictures are {}", name, signature.format, kSupported);
  }
  if (bytes.empty()) fail("{}: the file is empty, expected a picture", name);
  std::string start;
  for (const uint8_t byte : bytes.first(std::min<size_t>(bytes.size(), 4))) {
    start += fmt::format(" {:02x}", byte);
  }
  fail("{}: not a picture in a supported format ({}); it starts with the bytes{}", name, kSupported,
       start);
}

std::vector<uint8_t> read_bytes(const std::string& path, int64_t limit) {
  // Asked first, because opening a directory succeeds and only reading it fails.
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    fail("{}: a directory, expected a picture file", path);
  }
  errno = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) {
    fail("{}: cannot open the picture: {}", path, std::generic_category().message(errno));
  }
  // In blocks, because pipes and devices do not know their size; for plain files in one piece of
  // memory, because growing would hold the file twice.
  constexpr size_t kBlock = size_t{1} << 20;
  std::vector<uint8_t> bytes;
  const uintmax_t size = std::filesystem::file_size(path, ignored);
  if (!ignored && size <= static_cast<uint64_t>(limit)) bytes.reserve(size + kBlock);
  for (size_t got = kBlock; got == kBlock;) {
    const size_t before = bytes.size();
    if (before > static_cast<uint64_t>(limit)) {
      fail("{}: longer than the {} bytes allowed for a picture file", path, limit);
    }
    bytes.resize(before + kBlock);
    got = std::fread(bytes.data() + before, 1, kBlock, file.get());
    bytes.resize(before + got);
  }
  if (std::ferror(file.get())) {
    fail("{}: cannot read the picture: {}", path, std::generic_category().message(errno));
  }
  return bytes;
}

}  // namespace

void check_size(const std::string& name, int64_t width, int64_t height,
                const DecodeOptions& options) {
  if (width < 1 || height < 1) {
    fail("{}: a picture of {}x{} pixels, expected at least 1x1", name, width, height);
  }
  if (width > kMaxResizeSide || height > kMaxResizeSide) {
    fail("{}: a picture of {}x{} pixels, expected at most {} along a side", name, width, height,
         kMaxResizeSide);
  }
  if (width * height > options.max_pixels) {
    fail("{}: a picture of {}x{} pixels, over the limit of {} pixels (--max-pixels)", name, width,
         height, options.max_pixels);
  }
}

std::span<const std::string_view> picture_extensions() { return kExtensions; }

bool has_picture_extension(std::string_view name) {
  return std::ranges::any_of(kExtensions, [&](std::string_view extension) {
    if (name.size() <= extension.size()) return false;
    return std::ranges::equal(name.substr(name.size() - extension.size()), extension, {},
                              [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  });
}

Image decode_image(std::span<const uint8_t> bytes, const std::string& name,
                   const DecodeOptions& options) {
  const Decoder decoder = find_decoder(bytes, name);
  try {
    StoredImage stored = decoder(bytes, name, options);
    if (!options.apply_orientation) return std::move(stored.image);
    return orient(std::move(stored.image), stored.orientation);
  } catch (const std::bad_alloc&) {
    fail("{}: not enough memory for the picture", name);
  }
}

Image read_image(const std::string& path, const DecodeOptions& options) {
  // No sane coding of an allowed picture is longer than four 16-bit channels; small ones may carry
  // profiles and thumbnails.
  constexpr int64_t kMetadata = int64_t{64} << 20;
  const int64_t pixels =
      std::clamp<int64_t>(options.max_pixels, 0, kMaxResizeSide * kMaxResizeSide);
  return decode_image(read_bytes(path, pixels * 8 + kMetadata), path, options);
}

}  // namespace vig
