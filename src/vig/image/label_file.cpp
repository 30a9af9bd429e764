#include "vig/image/label_file.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string_view>

#include "vig/base/error.h"
#include "vig/image/decode.h"
#include "vig/image/encode_png.h"
#include "vig/image/image_file.h"
#include "vig/image/png_reader.h"

namespace vig {
namespace {

constexpr std::string_view kExpected =
    "a label map is a PNG file with a palette or gray values, each the number of a class";

void check_png(std::span<const uint8_t> bytes, const std::string& name) {
  constexpr uint8_t kSignature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  if (bytes.size() >= sizeof(kSignature) &&
      std::equal(std::begin(kSignature), std::end(kSignature), bytes.begin())) {
    return;
  }
  if (bytes.empty()) fail("{}: the file is empty; {}", name, kExpected);
  check_signature(bytes, name);  // says what it is if no image at all
  fail("{}: an image in another format than PNG; {}", name, kExpected);
}

// What every pixel of the file takes while it is decoded.
uint64_t pixel_bytes(int bits) { return bits == 16 ? 3 : 1; }

struct Kind {
  int bits = 0;
  int passes = 0;
};

Kind check_kind(PngReader& reader, const std::string& name) {
  const int color = png_get_color_type(reader.png(), reader.info());
  if (color != PNG_COLOR_TYPE_PALETTE && color != PNG_COLOR_TYPE_GRAY) {
    fail("{}: a PNG file with {}; {}", name,
         color == PNG_COLOR_TYPE_GRAY_ALPHA ? "an alpha channel" : "colours for every pixel",
         kExpected);
  }
  return {png_get_bit_depth(reader.png(), reader.info()), 1};
}

LabelMap decode_open(PngReader& reader, Kind kind, const std::string& name) {
  png_structp png = reader.png();
  png_infop info = reader.info();
  reader.guarded([&] {
    png_set_packing(png);  // one byte for a pixel, its value as it is
    kind.passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
  });
  const size_t bytes = kind.bits == 16 ? 2 : 1;
  LabelMap map(reader.width(), reader.height());
  const size_t row_bytes = static_cast<size_t>(map.width) * bytes;
  if (png_get_rowbytes(png, info) != row_bytes) {
    fail("{}: a PNG row of {} bytes, expected {}", name, png_get_rowbytes(png, info), row_bytes);
  }
  std::vector<uint8_t> wide(bytes == 2 ? row_bytes * static_cast<size_t>(map.height) : 0);
  uint8_t* rows = bytes == 2 ? wide.data() : map.labels.data();
  reader.guarded([&] {
    for (int pass = 0; pass < kind.passes; ++pass) {
      for (int y = 0; y < map.height; ++y) {
        png_read_row(png, rows + static_cast<size_t>(y) * row_bytes, nullptr);
      }
    }
  });
  for (size_t i = 0; i < wide.size(); i += 2) {
    if (wide[i] != 0) {
      fail("{}: the label {}, expected at most 255; {}", name, wide[i] * 256 + wide[i + 1],
           kExpected);
    }
    map.labels[i / 2] = wide[i + 1];
  }
  return map;
}

// As load_waiting of images: what does not fit beside others is dropped and read again when
// there is room for all of it.
LabelMap load_map_waiting(const ImageSource& source, const DecodeOptions& options) {
  MemoryBudget& budget = image_memory();
  budget.raise_capacity(decoding_limit(options));
  const uint64_t limit = budget.limit();
  for (uint64_t decoding = 0;;) {
    if (source.copied > limit || decoding > limit - source.copied) {
      fail(
          "{}: decoding takes {} bytes of memory, over the limit of {} (raise it with "
          "--max-pixels)",
          source.name, source.copied + decoding, limit);
    }
    MemoryBudget::Lease memory = budget.take(source.copied + decoding);
    std::vector<uint8_t> scratch;
    const std::span<const uint8_t> bytes = source.read(scratch);
    check_png(bytes, source.name);
    PngReader reader(bytes, source.name, options);
    const Kind kind = check_kind(reader, source.name);
    const uint64_t pixels =
        static_cast<uint64_t>(reader.width()) * static_cast<uint64_t>(reader.height());
    const uint64_t needed = reader.working_bytes() + pixels * pixel_bytes(kind.bits);
    if (needed > decoding && !memory.try_grow(needed - decoding)) {
      decoding = needed;
      continue;
    }
    return decode_open(reader, kind, source.name);
  }
}

}  // namespace

LabelMap load_label_map(const ImageSource& source, const DecodeOptions& options) {
  if (source.bytes > max_file_bytes(options)) {
    fail(
        "{}: {} bytes, longer than the {} bytes allowed for a label map (raise it with "
        "--max-pixels)",
        source.name, source.bytes, max_file_bytes(options));
  }
  try {
    return load_map_waiting(source, options);
  } catch (const std::bad_alloc&) {
    fail("{}: not enough memory for the label map", source.name);
  }
}

LabelMap decode_label_map(std::span<const uint8_t> bytes, const std::string& name,
                          const DecodeOptions& options) {
  return load_label_map({name, 0, 0, [&](std::vector<uint8_t>&) { return bytes; }}, options);
}

LabelMap read_label_map(const std::string& path, const DecodeOptions& options) {
  ImageFile file(path, ImageFile::Kind::kRegular);
  const uint64_t size = *file.size();
  return load_label_map({path, size, size,
                         [&](std::vector<uint8_t>& scratch) {
                           file.read(scratch, size);
                           return std::span<const uint8_t>(scratch);
                         }},
                        options);
}

std::vector<uint8_t> encode_label_map(const LabelMap& map, std::span<const Color> palette) {
  std::array<Color, 256> colors;
  for (size_t i = 0; i < colors.size(); ++i) {
    if (i < palette.size()) {
      colors[i] = palette[i];
    } else {
      colors[i].fill(static_cast<uint8_t>(i));
    }
  }
  return encode_palette_png(map.labels, map.width, map.height, colors);
}

}  // namespace vig
