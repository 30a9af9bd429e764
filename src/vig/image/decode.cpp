#include "vig/image/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/exif.h"
#include "vig/image/formats.h"
#include "vig/image/image_file.h"
#include "vig/image/image_size.h"
#include "vig/kernels/resize.h"

namespace vig {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kSupported = "JPEG, PNG, WebP, TIFF, BMP, GIF, PPM, HEIC and AVIF";
constexpr std::string_view kExtensions[] = {".jpg",  ".jpeg", ".png",  ".webp", ".tif",
                                            ".tiff", ".bmp",  ".gif",  ".ppm",  ".pgm",
                                            ".pbm",  ".pnm",  ".heic", ".heif", ".avif"};

struct Format {
  std::string_view signature;  // how files begin; '?' stands for any byte
  std::string_view name;
  OpenImage* open;  // null: known, but not supported
};

constexpr Format kFormats[] = {
    {"\xFF\xD8\xFF"sv, "JPEG", open_jpeg},
    {"\x89PNG\r\n\x1A\n"sv, "PNG", open_png},
    {"RIFF????WEBP"sv, "WebP", open_webp},
    {"II*\0"sv, "TIFF", open_tiff},
    {"MM\0*"sv, "TIFF", open_tiff},
    {"II+\0"sv, "TIFF", open_tiff},
    {"MM\0+"sv, "TIFF", open_tiff},
    {"BM"sv, "BMP", open_bmp},
    {"GIF8"sv, "GIF", open_gif},
    {"P1"sv, "PBM", open_pnm},
    {"P2"sv, "PGM", open_pnm},
    {"P3"sv, "PPM", open_pnm},
    {"P4"sv, "PBM", open_pnm},
    {"P5"sv, "PGM", open_pnm},
    {"P6"sv, "PPM", open_pnm},
    {"????ftyphei"sv, "HEIC", open_heif},
    {"????ftyphev"sv, "HEIC", open_heif},
    {"????ftypavi"sv, "AVIF", open_heif},
    {"????ftypmif1"sv, "HEIF", open_heif},
    {"????ftypmsf1"sv, "HEIF", open_heif},
    {"8BPS"sv, "Photoshop", nullptr},
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

OpenImage* find_format(std::span<const uint8_t> bytes, const std::string& name) {
  for (const Format& format : kFormats) {
    if (!matches(bytes, format.signature)) continue;
    if (format.open != nullptr) return format.open;
    fail("{}: a {} file; supported images are {}", name, format.name, kSupported);
  }
  if (bytes.empty()) fail("{}: the file is empty, expected an image", name);
  std::string start;
  for (const uint8_t byte : bytes.first(std::min<size_t>(bytes.size(), 4))) {
    start += fmt::format(" {:02x}", byte);
  }
  fail("{}: not an image in a supported format ({}); it starts with the bytes{}", name, kSupported,
       start);
}

int64_t allowed_pixels(const DecodeOptions& options) {
  return std::clamp<int64_t>(options.max_pixels, 0, kMaxResizeSide * kMaxResizeSide);
}

bool is_turned(const ImageHeader& header, const DecodeOptions& options) {
  return options.apply_orientation && header.orientation != 1;
}

uint64_t rgb_bytes(const ImageHeader& header) {
  return static_cast<uint64_t>(header.width) * static_cast<uint64_t>(header.height) * 3;
}

// What decode_open holds at its peak.
uint64_t decoding_bytes(const ImageHeader& header, const DecodeOptions& options) {
  const uint64_t rgb = rgb_bytes(header);
  return rgb + std::max(header.working_bytes, is_turned(header, options) ? rgb : 0);
}

Image decode_open(std::unique_ptr<ImageDecoder> decoder, const DecodeOptions& options) {
  const ImageHeader header = decoder->header();
  Image image = decoder->decode();
  decoder.reset();  // turning needs memory of its own
  if (!is_turned(header, options)) return image;
  return orient(std::move(image), header.orientation);
}

void check_memory(const std::string& name, uint64_t bytes, uint64_t limit) {
  if (bytes <= limit) return;
  fail("{}: decoding takes {} bytes of memory, over the limit of {} (raise it with --max-pixels)",
       name, bytes, limit);
}

// Never waits while it holds memory: what does not fit beside others is dropped, and read again
// when there is room for all of it.
LoadedImage load_waiting(const ImageSource& source, const DecodeOptions& options) {
  MemoryBudget& budget = image_memory();
  budget.raise_capacity(decoding_limit(options));
  const uint64_t limit = budget.limit();
  check_memory(source.name, source.copied, limit);
  // Reading the header may copy the file a few times, as tags of TIFF are.
  constexpr uint64_t kOpening = 4;
  for (uint64_t decoding = std::min(source.bytes * kOpening, limit - source.copied);;) {
    LoadedImage loaded;
    loaded.memory = budget.take(source.copied + decoding);
    std::vector<uint8_t> scratch;
    const std::span<const uint8_t> bytes = source.read(scratch);
    auto decoder = find_format(bytes, source.name)(bytes, source.name, options);
    const uint64_t needed = decoding_bytes(decoder->header(), options);
    check_memory(source.name, source.copied + needed, limit);
    if (needed > decoding && !loaded.memory.try_grow(needed - decoding)) {
      decoding = needed;
      continue;
    }
    loaded.image = decode_open(std::move(decoder), options);
    scratch = {};
    loaded.memory.shrink_to(loaded.image.rgb.size());
    return loaded;
  }
}

template <typename Work>
auto with_memory(const std::string& name, const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    fail("{}: not enough memory for the image", name);
  }
}

}  // namespace

void check_size(const std::string& name, int64_t width, int64_t height,
                const DecodeOptions& options) {
  if (width < 1 || height < 1) {
    fail("{}: an image of {}x{} pixels, expected at least 1x1", name, width, height);
  }
  if (width > kMaxResizeSide || height > kMaxResizeSide) {
    fail("{}: an image of {}x{} pixels, expected at most {} along a side (a fixed limit)", name,
         width, height, kMaxResizeSide);
  }
  if (width * height > options.max_pixels) {
    fail("{}: an image of {}x{} pixels, over the limit of {} pixels (raise it with --max-pixels)",
         name, width, height, options.max_pixels);
  }
}

ImageSize read_image_size(const ImageSource& source, const DecodeOptions& options) {
  return with_memory(source.name, [&]() -> ImageSize {
    if (source.bytes > max_file_bytes(options)) {
      fail(
          "{}: {} bytes, longer than the {} bytes allowed for an image file (raise it with "
          "--max-pixels)",
          source.name, source.bytes, max_file_bytes(options));
    }
    MemoryBudget& budget = image_memory();
    budget.raise_capacity(decoding_limit(options));
    check_memory(source.name, source.copied, budget.limit());
    // Where nothing is copied there is nothing to wait for.
    MemoryBudget::Lease memory;
    if (source.copied > 0) memory = budget.take(source.copied);
    std::vector<uint8_t> scratch;
    const std::span<const uint8_t> bytes = source.read(scratch);
    const ImageHeader header =
        find_format(bytes, source.name)(bytes, source.name, options)->header();
    const bool sideways = options.apply_orientation && header.orientation > 4;
    if (sideways) return {header.height, header.width};
    return {header.width, header.height};
  });
}

std::span<const std::string_view> image_extensions() { return kExtensions; }

bool has_image_extension(std::string_view name) {
  return std::ranges::any_of(kExtensions, [&](std::string_view extension) {
    if (name.size() <= extension.size()) return false;
    return std::ranges::equal(name.substr(name.size() - extension.size()), extension, {},
                              [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  });
}

uint64_t max_file_bytes(const DecodeOptions& options) {
  constexpr uint64_t kMetadata = uint64_t{64} << 20;
  return static_cast<uint64_t>(allowed_pixels(options)) * 8 + kMetadata;
}

uint64_t decoding_limit(const DecodeOptions& options) {
  constexpr uint64_t kLeast = uint64_t{128} << 20;
  return std::max(kLeast, static_cast<uint64_t>(allowed_pixels(options)) * 13);
}

void check_signature(std::span<const uint8_t> start, const std::string& name) {
  find_format(start, name);
}

std::shared_ptr<const Image> shared_image(LoadedImage loaded) {
  const auto shared = std::make_shared<LoadedImage>(std::move(loaded));
  return {shared, &shared->image};
}

LoadedImage load_image(const ImageSource& source, const DecodeOptions& options) {
  return with_memory(source.name, [&] {
    if (source.bytes > max_file_bytes(options)) {
      fail(
          "{}: {} bytes, longer than the {} bytes allowed for an image file (raise it with "
          "--max-pixels)",
          source.name, source.bytes, max_file_bytes(options));
    }
    return load_waiting(source, options);
  });
}

LoadedImage load_image(const std::string& path, const DecodeOptions& options) {
  ImageFile file(path);
  if (const std::optional<uint64_t> size = file.size()) {
    return load_image({path, *size, *size,
                       [&](std::vector<uint8_t>& scratch) {
                         file.read(scratch, *size);
                         return std::span<const uint8_t>(scratch);
                       }},
                      options);
  }
  // A pipe cannot be read twice.
  const std::vector<uint8_t> bytes =
      with_memory(path, [&] { return file.read_stream(max_file_bytes(options)); });
  return load_image(
      {path, bytes.size(), bytes.size(), [&](std::vector<uint8_t>&) { return std::span(bytes); }},
      options);
}

LoadedImage load_image(std::span<const uint8_t> bytes, const std::string& name,
                       const DecodeOptions& options) {
  return load_image({name, 0, 0, [&](std::vector<uint8_t>&) { return bytes; }}, options);
}

Image read_image(const std::string& path, const DecodeOptions& options) {
  return load_image(path, options).image;
}

Image decode_image(std::span<const uint8_t> bytes, const std::string& name,
                   const DecodeOptions& options) {
  return load_image(bytes, name, options).image;
}

}  // namespace vig
