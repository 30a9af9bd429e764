#include "vig/image/region_source.h"

#include <algorithm>
#include <utility>

#include "vig/base/error.h"
#include "vig/image/decode.h"

namespace vig {
namespace {

class DecodedSource : public RegionSource {
 public:
  DecodedSource(std::string name, LoadedImage loaded, const RegionLimits& limits)
      : RegionSource(std::move(name), limits), loaded_(std::move(loaded)) {
    levels_ = {{loaded_.image.width, loaded_.image.height, 1}};
  }

 private:
  Image read_region(int, const ImageRegion& region) override {
    Image part(static_cast<int>(region.width), static_cast<int>(region.height));
    for (int y = 0; y < part.height; ++y) {
      const uint8_t* row = loaded_.image.row(static_cast<int>(region.y) + y) + region.x * 3;
      std::copy_n(row, part.row_bytes(), part.row(y));
    }
    return part;
  }

  LoadedImage loaded_;
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
  return read_region(level, region);
}

std::unique_ptr<RegionSource> open_regions(const std::filesystem::path& path,
                                           const RegionLimits& limits) {
  return std::make_unique<DecodedSource>(path.string(), load_image(path.string(), limits.decode),
                                         limits);
}

std::unique_ptr<RegionSource> regions_of(Image image, const RegionLimits& limits) {
  LoadedImage loaded;
  loaded.image = std::move(image);
  return std::make_unique<DecodedSource>("image", std::move(loaded), limits);
}

}  // namespace vig
