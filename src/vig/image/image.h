// A decoded image, and what can be said of its pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vig {

// 8-bit RGB, rows from the top, pixels interleaved: rgb[(y * width + x) * 3 + channel].
struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;

  Image() = default;
  Image(int w, int h)
      : width(w), height(h), rgb(static_cast<size_t>(w) * static_cast<size_t>(h) * 3) {}

  size_t row_bytes() const { return static_cast<size_t>(width) * 3; }
  uint8_t* row(int y) { return rgb.data() + static_cast<size_t>(y) * row_bytes(); }
  const uint8_t* row(int y) const { return rgb.data() + static_cast<size_t>(y) * row_bytes(); }
  bool operator==(const Image&) const = default;
};

// How image files are decoded (image/decode.h).
struct DecodeOptions {
  // Turn the image as its EXIF or TIFF orientation says. Off: as stored, which is what
  // torchvision's loaders do and what published accuracies were measured with.
  bool apply_orientation = true;
  // Larger images are refused. Memory follows it, too: see decoding_limit.
  int64_t max_pixels = int64_t{1} << 26;
};

// Pixels with this label have none: they take no part in losses and metrics.
inline constexpr uint8_t kNoLabel = 255;

// Rows from the top: labels[y * width + x].
struct LabelMap {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> labels;

  LabelMap() = default;
  LabelMap(int w, int h, uint8_t label = kNoLabel)
      : width(w), height(h), labels(static_cast<size_t>(w) * static_cast<size_t>(h), label) {}

  uint8_t* row(int y) {
    return labels.data() + static_cast<size_t>(y) * static_cast<size_t>(width);
  }
  const uint8_t* row(int y) const {
    return labels.data() + static_cast<size_t>(y) * static_cast<size_t>(width);
  }
  bool operator==(const LabelMap&) const = default;
};

// A rectangle in an image.
// Positions are continuous: pixel (x, y) covers [x, x + 1) by [y, y + 1). No corner is part of the
// size: the width is x2 - x1.
struct Box {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;

  float width() const { return x2 - x1; }
  float height() const { return y2 - y1; }
  float area() const { return width() * height(); }
  bool operator==(const Box&) const = default;
};

// The mask of an object as run lengths, in the form of COCO.
// Runs over the image column by column, each from the top; the first run is one of zeros and may
// be empty. The runs add up to width * height.
struct Mask {
  int width = 0;
  int height = 0;
  std::vector<uint32_t> runs;

  int64_t area() const;
  Box bounds() const;  // of the ones; empty where there is none
  bool operator==(const Mask&) const = default;
};

std::vector<uint8_t> decode_mask(const Mask& mask);  // of zeros and ones, row by row

}  // namespace vig
