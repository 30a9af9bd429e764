// HEIC and AVIF files: the boxes around coded images (ISO/IEC 23008-12).
//
// Read here rather than by libheif, because the boxes of a hostile file can name one byte range,
// one property or one tile thousands of times: only the primary image is searched, each list is
// followed once, and what libheif gets to see in the end is a file that libheif.cpp wrote.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vig {

enum class HeifCodec { kHevc, kAv1 };

// One image as HEVC or AV1 codes it.
struct CodedImage {
  HeifCodec codec = HeifCodec::kHevc;
  int64_t width = 0, height = 0;                // as declared
  std::span<const uint8_t> config;              // contents of the box hvcC or av1C
  std::span<const uint8_t> colour;              // contents of the box colr of type nclx, or empty
  std::vector<std::span<const uint8_t>> parts;  // of the coded data, in order

  uint64_t data_bytes() const;
};

// A change of the decoded image, in whole pixels.
struct HeifTransform {
  enum class Kind { kCrop, kTurnLeft, kFlipRows, kFlipColumns };
  Kind kind;
  int64_t left = 0, top = 0, width = 0, height = 0;  // of kCrop
};

// The primary image: tiles of one size in rows from the top, cut to width x height where they
// reach beyond it, then transformed in the given order.
struct HeifImage {
  int64_t width = 0, height = 0;
  int64_t columns = 1, rows = 1;
  std::vector<CodedImage> tiles;
  std::vector<HeifTransform> transforms;
};

// Spans point into `bytes`. Throws Error naming `name`.
HeifImage read_heif_container(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace vig
