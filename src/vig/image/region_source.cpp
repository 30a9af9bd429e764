#include "vig/image/region_source.h"

#include <algorithm>
#include <array>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "vig/base/error.h"
#include "vig/image/decode.h"
#include "vig/image/image_file.h"
#include "vig/image/region_formats.h"

namespace vig {
namespace {

using namespace std::string_view_literals;

class DecodedSource : public RegionSource {
 public:
  DecodedSource(std::string name, Image image, const RegionLimits& limits)
      : RegionSource(std::move(name), limits), image_(std::move(image)) {
    levels_ = {{image_.width, image_.height, 1}};
  }

 private:
  Image read_region(int, const ImageRegion& region) override {
    Image part(static_cast<int>(region.width), static_cast<int>(region.height));
    for (int y = 0; y < part.height; ++y) {
      const uint8_t* row = image_.row(static_cast<int>(region.y) + y) + region.x * 3;
      std::copy_n(row, part.row_bytes(), part.row(y));
    }
    return part;
  }

  Image image_;
};

}  // namespace

RegionSource::RegionSource(std::string name, const RegionLimits& limits)
    : name_(std::move(name)), limits_(limits) {}

Image RegionSource::read(int level, const ImageRegion& region) {
  if (level < 0 || level >= static_cast<int>(levels_.size())) {
    fail_usage("{}: level {}, expected 0 to {}", name_, level, levels_.size() - 1);
  }
  const RegionLevel& size = levels_[static_cast<size_t>(level)];
  const auto inside = [](int64_t start, int64_t length, int64_t side) {
    return start >= 0 && length >= 1 && start < side && length <= side - start;
  };
  if (!inside(region.x, region.width, size.width) ||
      !inside(region.y, region.height, size.height)) {
    fail_usage("{}: region {},{},{},{}, expected one inside the {}x{} pixels of level {}", name_,
               region.x, region.y, region.width, region.height, size.width, size.height, level);
  }
  if (region.width > limits_.max_region_pixels / region.height) {
    fail_usage("{}: a region of {}x{} pixels, expected at most {} pixels at a time", name_,
               region.width, region.height, limits_.max_region_pixels);
  }
  try {
    return read_region(level, region);
  } catch (const std::bad_alloc&) {
    fail("{}: not enough memory for a region of {}x{} pixels", name_, region.width, region.height);
  }
}

std::unique_ptr<RegionSource> open_file_regions(FileBytes file, const std::string& name,
                                                const RegionLimits& limits) {
  std::array<char, 8> start = {};
  const size_t got = file.read(0, start.data(), start.size());
  const std::string_view bytes(start.data(), got);
  if (bytes.starts_with("\xFF\xD8\xFF"sv)) return open_jpeg_rows(std::move(file), name, limits);
  if (bytes == "\x89PNG\r\n\x1A\n"sv) return open_png_rows(std::move(file), name, limits);
  for (const std::string_view tiff : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv}) {
    if (bytes.starts_with(tiff)) return open_tiff_regions(std::move(file), name, limits);
  }
  return nullptr;
}

std::unique_ptr<RegionSource> open_regions(const std::filesystem::path& path,
                                           const RegionLimits& limits) {
  const std::string name = path.string();
  try {
    std::error_code ignored;  // what does not exist is reported by opening it
    if (std::filesystem::is_regular_file(path, ignored)) {
      if (has_slide_extension(name)) {
        if (auto slide = open_slide(name, limits)) return slide;
      }
      auto file = std::make_shared<const ImageFile>(name, ImageFile::Kind::kRegular);
      if (auto source = open_file_regions(regular_file_bytes(file), name, limits)) return source;
    }
    return std::make_unique<DecodedSource>(name, read_image(name, limits.decode), limits);
  } catch (const std::bad_alloc&) {
    fail("{}: not enough memory for the image", name);
  }
}

std::unique_ptr<RegionSource> regions_of(Image image, const RegionLimits& limits) {
  return std::make_unique<DecodedSource>("image", std::move(image), limits);
}

}  // namespace vig
