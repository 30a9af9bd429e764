// Regions of TIFF and BigTIFF by libtiff. Levels of a pyramid are pages marked as reduced images
// that have the shape of the first page, in the main list or in its list of sub-pages.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "vig/base/error.h"
#include "vig/image/exif.h"
#include "vig/image/region_formats.h"
#include "vig/image/tiff_geo.h"
#include "vig/image/tiff_level.h"

namespace vig {
namespace {

constexpr size_t kMaxPages = 64;  // further ones are ignored

double ratio(int64_t side, int64_t other) {
  return static_cast<double>(side) / static_cast<double>(other);
}

// Up to the rounding of either side.
bool same_shape(int64_t width, int64_t height, int64_t w, int64_t h) {
  const auto near = [](double expected, int64_t found) {
    return std::abs(expected - static_cast<double>(found)) <= 1 + 0.01 * expected;
  };
  return near(static_cast<double>(height) / ratio(width, w), h) ||
         near(static_cast<double>(width) / ratio(height, h), w);
}

class TiffRegions : public RegionSource {
 public:
  TiffRegions(FileBytes file, std::string name, const RegionLimits& limits)
      : RegionSource(std::move(name), limits),
        file_(std::move(file)),
        kind_(file_),
        cache_(limits.cache_bytes) {
    const TiffTags first(file_, kind_, kind_.first);
    pages_.push_back({kind_.first, nullptr});
    const TiffLevel& image = open_page(0);
    orientation_ = limits.decode.apply_orientation ? image.orientation() : 1;
    sequential_ = image.sequential();
    add_level(image.width(), image.height());
    microns_per_pixel_ = tiff_microns_per_pixel(first);
    if (orientation_ == 1) geo_transform_ = tiff_geo_transform(first);
    find_levels(first);
  }

 private:
  struct Page {
    uint64_t directory;
    std::unique_ptr<TiffLevel> level;  // opened when it is read
  };

  TiffLevel& open_page(size_t number) {
    Page& page = pages_[number];
    if (page.level == nullptr) {
      const TiffTags tags(file_, kind_, page.directory);
      page.level = std::make_unique<TiffLevel>(file_, tags, name_, limits_, cache_, number);
    }
    return *page.level;
  }

  // Sizes as stored.
  void add_level(int64_t width, int64_t height) {
    if (orientation_ > 4) std::swap(width, height);
    // By the longer side, which rounding changes less.
    double downsample = 1;
    if (!levels_.empty()) {
      const RegionLevel& image = levels_[0];
      downsample =
          image.width >= image.height ? ratio(image.width, width) : ratio(image.height, height);
    }
    levels_.push_back({width, height, downsample});
  }

  struct Reduced {
    int64_t width, height;
    uint64_t directory;
  };

  void find_levels(const TiffTags& first) {
    const int64_t width = pages_[0].level->width(), height = pages_[0].level->height();
    std::vector<Reduced> found;
    std::set<uint64_t> visited = {0, kind_.first};
    const auto add = [&](const TiffTags& tags) {
      const uint64_t kind = tags.integer(254, tags.integer(255, 1) == 2 ? 1 : 0);
      constexpr uint64_t kReduced = 1, kMask = 4;
      if ((kind & kReduced) == 0 || (kind & kMask) != 0) return;
      const uint64_t w = tags.integer(256, 0), h = tags.integer(257, 0);
      if (w < 1 || h < 1 || w > static_cast<uint64_t>(width) || h > static_cast<uint64_t>(height)) {
        return;
      }
      const auto columns = static_cast<int64_t>(w), rows = static_cast<int64_t>(h);
      if (!same_shape(width, height, columns, rows)) return;
      found.push_back({columns, rows, tags.offset()});
    };
    constexpr uint16_t kSubPages = 330;
    for (const uint64_t offset : first.integers(kSubPages, kMaxPages)) {
      if (visited.insert(offset).second) add(TiffTags(file_, kind_, offset));
    }
    for (uint64_t next = first.next(); visited.size() < kMaxPages && visited.insert(next).second;) {
      const TiffTags tags(file_, kind_, next);
      add(tags);
      next = tags.next();
    }
    const auto area = [](const Reduced& level) { return level.width * level.height; };
    std::ranges::stable_sort(found, std::greater(), area);
    int64_t before = width * height;
    for (const Reduced& level : found) {
      if (area(level) >= before) continue;
      before = area(level);
      pages_.push_back({level.directory, nullptr});
      add_level(level.width, level.height);
    }
  }

  Image read_region(int number, const ImageRegion& region) override {
    TiffLevel& level = open_page(static_cast<size_t>(number));
    const bool sideways = orientation_ > 4;
    const RegionLevel& shown = levels_[static_cast<size_t>(number)];
    const int64_t width = sideways ? shown.height : shown.width;
    const int64_t height = sideways ? shown.width : shown.height;
    if (level.width() != width || level.height() != height) {
      fail("{}: damaged TIFF: level {} of {}x{} pixels, expected {}x{}", name_, number,
           level.width(), level.height(), width, height);
    }
    Image image = level.read(stored_region(region, width, height, orientation_));
    return orientation_ == 1 ? std::move(image) : orient(std::move(image), orientation_);
  }

  FileBytes file_;
  TiffKind kind_;
  PieceCache cache_;
  std::vector<Page> pages_;  // one per level
  int orientation_ = 1;
};

}  // namespace

std::unique_ptr<RegionSource> open_tiff_regions(FileBytes file, std::string name,
                                                const RegionLimits& limits) {
  return std::make_unique<TiffRegions>(std::move(file), std::move(name), limits);
}

}  // namespace vig
