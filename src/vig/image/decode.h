// Image files to 8-bit RGB: JPEG, PNG, WebP, TIFF, BMP, GIF, PBM/PGM/PPM, HEIC and AVIF,
// recognised by their content.
//
// Colours come out as Pillow's convert("RGB") gives them: alpha and colour keys are dropped without
// compositing, gray and palette are expanded, gamma and colour profiles are ignored, 16-bit samples
// keep their high byte, CMYK is read in Adobe's inverted convention. Of several pages or frames the
// first is taken.
//
// Files are not trusted. Sizes are checked before memory is taken, damaged or cut files throw, and
// time and memory are bounded by DecodeOptions::max_pixels: all decoders of the process share one
// budget (image_memory), in which images wait for their turn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/base/memory_budget.h"
#include "vig/image/image.h"

namespace vig {

// How names of images end, in lower case: ".jpg", ".png", ... The content decides in the end;
// these select images where a folder is searched.
std::span<const std::string_view> image_extensions();
bool has_image_extension(std::string_view name);  // in any case

// How long an image file may be: as four 16-bit channels, which no sane coding exceeds, and room
// for profiles and thumbnails.
uint64_t max_file_bytes(const DecodeOptions& options);

// The memory for the bytes and pixels of all images being decoded: 13 bytes per pixel of the
// largest image allowed, 872 MB by default. An image that alone takes more is refused. The worst
// case that must fit, a progressive four-channel JPEG, takes 11.
uint64_t decoding_limit(const DecodeOptions& options);

// An image and the memory that it takes from the budget. A thread drops it before it loads the
// next one, because it would wait for itself.
struct LoadedImage {
  Image image;
  MemoryBudget::Lease memory;
};

// The image with its memory, for as long as it is used.
std::shared_ptr<const Image> shared_image(LoadedImage loaded);

// Where the bytes of an image file come from.
struct ImageSource {
  std::string name;  // for messages
  uint64_t bytes;    // of the file, as known before reading it
  uint64_t copied;   // bytes that `read` puts into its scratch
  // The whole file, as long as scratch lives. Called again after waiting for memory.
  std::function<std::span<const uint8_t>(std::vector<uint8_t>& scratch)> read;
};

// All throw Error, also when the file cannot be read.
LoadedImage load_image(const ImageSource& source, const DecodeOptions& options = {});
LoadedImage load_image(const std::string& path, const DecodeOptions& options = {});
// `name` stands for the image in error messages.
LoadedImage load_image(std::span<const uint8_t> bytes, const std::string& name,
                       const DecodeOptions& options = {});
Image decode_image(std::span<const uint8_t> bytes, const std::string& name,
                   const DecodeOptions& options = {});
// For callers that keep images: what they keep is not counted.
Image read_image(const std::string& path, const DecodeOptions& options = {});

// Throws Error unless a file that begins so is an image in a supported format.
void check_signature(std::span<const uint8_t> start, const std::string& name);

}  // namespace vig
