// Slides by OpenSlide.
//
// The library is loaded when the first slide is met, as libheif is. Its interface is a handful of C
// functions with plain arguments, declared here, so that building needs no package for it.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/region_formats.h"

namespace vig {
namespace {

constexpr const char* kOpenSlide = "libopenslide.so.0";
constexpr std::string_view kSlideExtensions[] = {".svs", ".ndpi",    ".mrxs", ".scn",
                                                 ".bif", ".svslide", ".vms",  ".vmu"};

// The functions of the library. It stays loaded to the end of the process.
class OpenSlide {
 public:
  static const OpenSlide& get(const std::string& name) {
    static const OpenSlide library;
    if (!library.problem_.empty()) {
      fail("{}: slides are read by {} (Debian package libopenslide0), which cannot be loaded: {}",
           name, kOpenSlide, library.problem_);
    }
    return library;
  }

 private:
  template <typename Function>
  Function* find(const char* function) {
    void* address = library_ == nullptr ? nullptr : dlsym(library_, function);
    if (address == nullptr && problem_.empty()) problem_ = dlerror();
    return reinterpret_cast<Function*>(address);
  }

  std::string problem_;
  void* library_ = dlopen(kOpenSlide, RTLD_NOW | RTLD_LOCAL);

 public:
  // Handles are opaque.
  void* (*open)(const char* path) = find<void*(const char*)>("openslide_open");
  void (*close)(void*) = find<void(void*)>("openslide_close");
  const char* (*get_error)(void*) = find<const char*(void*)>("openslide_get_error");
  int32_t (*level_count)(void*) = find<int32_t(void*)>("openslide_get_level_count");
  void (*level_dimensions)(void*, int32_t level, int64_t* width, int64_t* height) =
      find<void(void*, int32_t, int64_t*, int64_t*)>("openslide_get_level_dimensions");
  double (*level_downsample)(void*, int32_t level) =
      find<double(void*, int32_t)>("openslide_get_level_downsample");
  const char* (*property)(void*, const char* name) =
      find<const char*(void*, const char*)>("openslide_get_property_value");
  // x and y count pixels of level 0. Pixels are 0xAARRGGBB, colours multiplied by alpha.
  void (*read_region)(void*, uint32_t* out, int64_t x, int64_t y, int32_t level, int64_t width,
                      int64_t height) = find<void(void*, uint32_t*, int64_t, int64_t, int32_t,
                                                  int64_t, int64_t)>("openslide_read_region");
};

class Slide : public RegionSource {
 public:
  using Handle = std::unique_ptr<void, void (*)(void*)>;

  Slide(const OpenSlide& library, Handle handle, const std::string& name,
        const RegionLimits& limits)
      : RegionSource(name, limits), library_(library), handle_(std::move(handle)) {
    constexpr int32_t kMaxLevels = 64;
    check();
    const int32_t count = library_.level_count(handle_.get());
    if (count < 1 || count > kMaxLevels) {
      fail("{}: a slide of {} levels, expected 1 to {}", name_, count, kMaxLevels);
    }
    for (int32_t level = 0; level < count; ++level) {
      RegionLevel size;
      library_.level_dimensions(handle_.get(), level, &size.width, &size.height);
      size.downsample = library_.level_downsample(handle_.get(), level);
      check_region_size(name_, size.width, size.height);
      if (!(size.downsample >= 1) || size.downsample > 1e9) {
        fail("{}: damaged slide: level {} is {} times smaller", name_, level, size.downsample);
      }
      levels_.push_back(size);
    }
    if (const std::string_view text = property("openslide.mpp-x"); !text.empty()) {
      double microns = 0;
      std::from_chars(text.data(), text.data() + text.size(), microns);
      if (std::isfinite(microns) && microns > 0) microns_per_pixel_ = microns;
    }
    read_background();
    check();
  }

 private:
  void check() const {
    const char* error = library_.get_error(handle_.get());
    if (error != nullptr) fail("{}: damaged slide: {}", name_, error);
  }

  std::string_view property(const char* name) const {
    const char* value = library_.property(handle_.get(), name);
    return value == nullptr ? std::string_view() : std::string_view(value);
  }

  // RRGGBB; white where the slide does not say.
  void read_background() {
    const std::string_view text = property("openslide.background-color");
    uint32_t colour = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), colour, 16);
    if (text.size() != 6 || error != std::errc() || end != text.data() + text.size()) return;
    for (size_t c = 0; c < 3; ++c) background_[c] = colour >> (16 - 8 * c) & 255;
  }

  Image read_region(int level, const ImageRegion& region) override {
    constexpr int64_t kBlockPixels = int64_t{1} << 20;
    const double scale = levels_[static_cast<size_t>(level)].downsample;
    const auto in_level_0 = [&](int64_t at) {
      return std::llround(static_cast<double>(at) * scale);
    };
    const int64_t rows = std::clamp<int64_t>(kBlockPixels / region.width, 1, region.height);
    std::vector<uint32_t> block(static_cast<size_t>(rows * region.width));
    Image part(static_cast<int>(region.width), static_cast<int>(region.height));
    for (int64_t y = 0; y < region.height; y += rows) {
      const int64_t count = std::min(rows, region.height - y);
      library_.read_region(handle_.get(), block.data(), in_level_0(region.x),
                           in_level_0(region.y + y), level, region.width, count);
      check();
      uint8_t* rgb = part.row(static_cast<int>(y));
      for (size_t i = 0; i < static_cast<size_t>(count * region.width); ++i, rgb += 3) {
        const uint32_t pixel = block[i], alpha = pixel >> 24;
        for (uint32_t c = 0; c < 3; ++c) {
          const uint32_t behind = (255 - alpha) * background_[c] + 127;
          rgb[c] = static_cast<uint8_t>(
              std::min<uint32_t>((pixel >> (16 - 8 * c) & 255) + behind / 255, 255));
        }
      }
    }
    return part;
  }

  const OpenSlide& library_;
  Handle handle_;
  std::array<uint32_t, 3> background_ = {255, 255, 255};
};

}  // namespace

bool has_slide_extension(const std::string& path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return false;
  std::string extension = path.substr(dot);
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::ranges::find(kSlideExtensions, extension) != std::end(kSlideExtensions);
}

std::unique_ptr<RegionSource> open_slide(const std::string& path, const RegionLimits& limits) {
  const OpenSlide& library = OpenSlide::get(path);
  Slide::Handle handle(library.open(path.c_str()), library.close);
  if (handle == nullptr) return nullptr;
  return std::make_unique<Slide>(library, std::move(handle), path, limits);
}

}  // namespace vig
