#include "vig/pipeline/region_windows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "vig/base/error.h"

namespace vig {
namespace {

// As many take weeks.
constexpr int64_t kMostWindows = int64_t{1} << 23;

const RegionLevel& level_of(const RegionSource& source, int level) {
  return source.levels()[static_cast<size_t>(level)];
}

int choose_level(const RegionSource& source, const WindowOptions& options) {
  const auto levels = static_cast<int>(source.levels().size());
  if (options.level) {
    if (*options.level < 0 || *options.level >= levels) {
      fail_usage("--level {}, expected 0{}", *options.level,
                 levels > 1 ? fmt::format(" to {}", levels - 1)
                            : std::string(", the only level of the image"));
    }
    return *options.level;
  }
  int chosen = 0;
  if (!options.mpp) return chosen;
  for (int level = 1; level < levels; ++level) {
    // Sides are rounded when pyramids are made.
    constexpr double kRounding = 1.01;
    const double microns = *source.microns_per_pixel() * level_of(source, level).downsample;
    if (microns <= *options.mpp * kRounding) chosen = level;
  }
  return chosen;
}

int rounded_side(double side) {
  return static_cast<int>(std::clamp(std::floor(side + 0.5), 1.0, 1e9));
}

}  // namespace

ImageRegion region_at(const RegionSource& source, int level, const ImageRegion& region) {
  const RegionLevel& full = level_of(source, 0);
  const RegionLevel& size = level_of(source, level);
  const auto inside = [](int64_t start, int64_t length, int64_t side) {
    return start >= 0 && length >= 1 && start < side && length <= side - start;
  };
  if (!inside(region.x, region.width, full.width) ||
      !inside(region.y, region.height, full.height)) {
    fail_usage("--region {},{},{},{}, expected one inside the {}x{} pixels of the image", region.x,
               region.y, region.width, region.height, full.width, full.height);
  }
  const auto span = [&](int64_t start, int64_t length, int64_t side, int64_t& first,
                        int64_t& count) {
    const auto begin = static_cast<int64_t>(static_cast<double>(start) / size.downsample);
    const auto end = static_cast<int64_t>(
        std::ceil(static_cast<double>(start + length) / size.downsample - 1e-6));
    first = std::clamp<int64_t>(begin, 0, side - 1);
    count = std::clamp<int64_t>(end - first, 1, side - first);
  };
  ImageRegion found;
  span(region.x, region.width, size.width, found.x, found.width);
  span(region.y, region.height, size.height, found.y, found.height);
  return found;
}

WindowPlan plan_windows(const RegionSource& source, const Recipe& recipe,
                        const WindowOptions& options, double overlap) {
  if (options.mpp && options.size > 0) fail_usage("--mpp and --size exclude each other");
  if (options.mpp && !(*options.mpp > 0 && std::isfinite(*options.mpp))) {
    fail_usage("--mpp {}, expected a number above 0", *options.mpp);
  }
  if (options.mpp && !source.microns_per_pixel()) {
    fail_usage("--mpp {}: the file does not say how large its pixels are; give --level or --size",
               *options.mpp);
  }
  WindowPlan plan;
  plan.skip_background = options.skip_background;
  plan.level = choose_level(source, options);
  plan.downsample = level_of(source, plan.level).downsample;
  const RegionLevel& full = level_of(source, 0);
  plan.region = region_at(source, plan.level,
                          options.region.value_or(ImageRegion{0, 0, full.width, full.height}));
  if (options.mpp) plan.scale = *source.microns_per_pixel() * plan.downsample / *options.mpp;
  const bool own = options.window == 0;  // the recipe decides
  plan.side = own ? rounded_side(recipe.crop / plan.scale) : options.window;
  if (options.size > 0) plan.scale = static_cast<double>(options.size) / plan.side;
  const double input = plan.side * plan.scale;
  constexpr int kMostSide = 1 << 14;
  if (plan.side > kMostSide || input > kMostSide || input < 1) {
    fail_usage("windows of {} pixels that the network sees as {:.0f}, expected 1 to {}", plan.side,
               input, kMostSide);
  }
  if (options.overlap >= 0) {
    if (options.overlap > plan.side * 3 / 4) {
      fail_usage("--overlap {}, expected at most {}: three quarters of a window", options.overlap,
                 plan.side * 3 / 4);
    }
    plan.stride = plan.side - options.overlap;
  } else if (own && recipe.window_stride > 0) {
    plan.stride = std::min(plan.side, rounded_side(recipe.window_stride / plan.scale));
  } else {
    // Whole numbers, rounded as the stride of windows in memory is.
    plan.stride = std::max(1, static_cast<int>(plan.side * (1 - overlap) + 1e-6));
  }
  const auto spans = [&](int64_t length) { return static_cast<double>(length) / plan.stride + 1; };
  if (const double windows = spans(plan.region.width) * spans(plan.region.height);
      windows > static_cast<double>(kMostWindows)) {
    fail_usage(
        "about {:.0f} windows of {} pixels over {}x{}, expected at most {}; give --region for "
        "a part of the image",
        windows, plan.side, plan.region.width, plan.region.height, kMostWindows);
  }
  return plan;
}

TiffBandFormat band_format(const RegionSource& source, const WindowPlan& plan, int channels) {
  TiffBandFormat format;
  format.width = plan.region.width;
  format.height = plan.region.height;
  format.channels = channels;
  if (source.microns_per_pixel()) {
    format.microns_per_pixel = *source.microns_per_pixel() * plan.downsample;
  }
  if (source.geo_transform()) {
    GeoTransform geo = *source.geo_transform();
    const double x = plan.full_x(0), y = plan.full_y(0);
    geo.x0 += x * geo.x_column + y * geo.x_row;
    geo.y0 += x * geo.y_column + y * geo.y_row;
    for (double* number : {&geo.x_column, &geo.x_row, &geo.y_column, &geo.y_row}) {
      *number *= plan.downsample;
    }
    format.geo_transform = geo;
  }
  return format;
}

bool is_background(const Image& image) {
  constexpr uint8_t kWhite = 220, kBlack = 12;
  constexpr double kShare = 0.99, kLeastDeviation = 4;
  int64_t white = 0, black = 0;
  double sum = 0, squares = 0;
  const auto pixels = static_cast<double>(image.width) * image.height;
  for (size_t i = 0; i < image.rgb.size(); i += 3) {
    const auto [low, high] = std::minmax({image.rgb[i], image.rgb[i + 1], image.rgb[i + 2]});
    white += low >= kWhite;
    black += high <= kBlack;
    const double brightness = (image.rgb[i] + image.rgb[i + 1] + image.rgb[i + 2]) / 3.0;
    sum += brightness;
    squares += brightness * brightness;
  }
  const double variance = squares / pixels - (sum / pixels) * (sum / pixels);
  return static_cast<double>(std::max(white, black)) >= kShare * pixels ||
         variance < kLeastDeviation * kLeastDeviation;
}

Recipe window_recipe(const Recipe& recipe, const WindowPlan& plan, int width, int height) {
  Recipe own = recipe;
  own.resize = rounded_side(std::min(width, height) * plan.scale);
  own.longest = std::max(own.resize, rounded_side(std::max(width, height) * plan.scale));
  return own;
}

RegionWindows::RegionWindows(RegionSource& source, const WindowPlan& plan, const Recipe& recipe)
    : plan_(plan),
      recipe_(recipe),
      rows_(source, plan.level, plan.region),
      windows_(sliding_windows(rows_.width(), rows_.height(), plan.side, plan.stride)),
      window_rows_(vig::window_rows(windows_)) {}

void RegionWindows::load(std::span<const InputWindow> row) {
  rows_.keep(row.front().y, row.front().y + row.front().height);
}

RunImage RegionWindows::image(const InputWindow& window) const {
  RunImage image;
  const auto shown = std::make_shared<const Image>(pixels(window));
  const Recipe recipe = window_recipe(recipe_, plan_, window.width, window.height);
  image.sample.image = shown;
  image.placement = place(recipe, window.width, window.height);
  image.write = [shown, recipe](float* out) { preprocess(*shown, recipe, out); };
  return image;
}

bool RegionWindows::skips(const RunImage& image) const {
  return plan_.skip_background && is_background(*image.sample.image);
}

}  // namespace vig
