#include "vig/data/augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "vig/base/error.h"
#include "vig/data/affine.h"
#include "vig/data/color_ops.h"
#include "vig/data/rand_augment.h"
#include "vig/image/preprocess.h"

namespace vig {
namespace {

constexpr int kTries = 10;

int draw_start(int side, int part, RandomStream& stream) {
  return static_cast<int>(stream.below(static_cast<uint64_t>(side - part) + 1));
}

// Width and height of a rectangle of random area and shape; not whole, perhaps too large.
struct Extent {
  double width, height;
};
Extent draw_sides(double area_min, double area_max, double ratio_min, double ratio_max,
                  RandomStream& stream) {
  const double area = area_min + (area_max - area_min) * stream.uniform();
  const double low = std::log(ratio_min), high = std::log(ratio_max);
  const double ratio = std::exp(low + (high - low) * stream.uniform());
  return {std::round(std::sqrt(area * ratio)), std::round(std::sqrt(area / ratio))};
}

Image cut(const Image& image, const CropBox& box) {
  Image part(box.width, box.height);
  for (int y = 0; y < box.height; ++y) {
    std::copy_n(image.row(box.y + y) + static_cast<size_t>(box.x) * 3, part.row_bytes(),
                part.row(y));
  }
  return part;
}

// The image as validation sees it, not resampled where that would change nothing.
Image center_crop(const Image& image, const Recipe& recipe) {
  const int size = recipe.crop;
  if (image.width == size && image.height == size && recipe.resize == size) return image;
  return crop_to_recipe(image, recipe);
}

// Folds a position outside of [0, side) back by mirrors in the middle of the outermost pixels.
int reflect(int position, int side) {
  if (side == 1) return 0;
  const int period = 2 * (side - 1);
  const int folded = std::abs(position) % period;
  return std::min(folded, period - folded);
}

// The image moved by (dx, dy); what is missing then comes from its padding.
Image shift(const Image& image, int dx, int dy, AugmentOptions::Padding padding) {
  Image result(image.width, image.height);
  const bool black = padding == AugmentOptions::Padding::kBlack;
  const int inner_begin = std::clamp(-dx, 0, image.width);
  const int inner_end = std::clamp(image.width - dx, 0, image.width);
  const auto copy_reflected = [&](const uint8_t* row, int begin, int end, uint8_t* out) {
    for (int x = begin; x < end; ++x) {
      std::copy_n(row + reflect(x + dx, image.width) * 3, 3, out + x * 3);
    }
  };
  for (int y = 0; y < image.height; ++y) {
    const bool outside = y + dy < 0 || y + dy >= image.height;
    if (black && outside) continue;
    const uint8_t* row = image.row(reflect(y + dy, image.height));
    uint8_t* out = result.row(y);
    std::copy_n(row + (inner_begin + dx) * 3, (inner_end - inner_begin) * 3, out + inner_begin * 3);
    if (black) continue;
    copy_reflected(row, 0, inner_begin, out);
    copy_reflected(row, inner_end, image.width, out);
  }
  return result;
}

Image crop(const Image& image, const Recipe& recipe, const AugmentOptions& options,
           RandomStream stream) {
  const int size = recipe.crop;
  switch (options.crop) {
    case AugmentOptions::Crop::kCenter:
      break;
    case AugmentOptions::Crop::kResized: {
      const CropBox box = draw_resized_crop(options, image.width, image.height, stream);
      Image part = cut(image, box);
      if (box.width == size && box.height == size) return part;
      return resize_image(part, size, size, recipe.interpolation);
    }
    case AugmentOptions::Crop::kPadded: {
      const int pad = static_cast<int>(std::lround(options.pad * static_cast<float>(size)));
      const auto draw_shift = [&] {
        return static_cast<int>(stream.below(static_cast<uint64_t>(pad) * 2 + 1)) - pad;
      };
      const int dx = draw_shift(), dy = draw_shift();
      return shift(center_crop(image, recipe), dx, dy, options.padding);
    }
  }
  return center_crop(image, recipe);
}

void jitter_colors(float amount, RandomStream stream, Image& image) {
  std::array<void (*)(Image&, float), 3> adjustments = {adjust_brightness, adjust_contrast,
                                                        adjust_color};
  for (size_t i = adjustments.size(); i > 1; --i)
    std::swap(adjustments[i - 1], adjustments[stream.below(i)]);
  for (const auto adjust : adjustments) adjust(image, stream.uniform(1.0f - amount, 1.0f + amount));
}

// Calls `value` for every float of the box.
template <typename Function>
void fill_box(const CropBox& box, int size, float* image, Function value) {
  for (int y = box.y; y < box.y + box.height; ++y) {
    float* row =
        image +
        (static_cast<size_t>(y) * static_cast<size_t>(size) + static_cast<size_t>(box.x)) * 3;
    std::generate_n(row, box.width * 3, value);
  }
}

void erase(const AugmentOptions& options, int size, RandomStream stream, float* image) {
  if (!stream.chance(options.erase)) return;
  const double area = static_cast<double>(size) * size;
  for (int i = 0; i < kTries; ++i) {
    const Extent sides = draw_sides(options.erase_area_min * area, options.erase_area_max * area,
                                    options.erase_ratio, 1.0 / options.erase_ratio, stream);
    if (sides.width >= size || sides.height >= size) continue;
    CropBox box = {0, 0, static_cast<int>(sides.width), static_cast<int>(sides.height)};
    box.x = draw_start(size, box.width, stream);
    box.y = draw_start(size, box.height, stream);
    return fill_box(box, size, image, [&] { return stream.normal(); });
  }
}

void cut_out(float share, int size, RandomStream stream, float* image) {
  const int side = static_cast<int>(std::lround(share * static_cast<float>(size)));
  const int x = static_cast<int>(stream.below(static_cast<uint64_t>(size))) - side / 2;
  const int y = static_cast<int>(stream.below(static_cast<uint64_t>(size))) - side / 2;
  CropBox box = {std::max(0, x), std::max(0, y), 0, 0};
  box.width = std::min(size, x + side) - box.x;
  box.height = std::min(size, y + side) - box.y;
  fill_box(box, size, image, [] { return 0.0f; });
}

Color mean_color(const Recipe& recipe) {
  Color color;
  for (size_t c = 0; c < 3; ++c) {
    color[c] = static_cast<uint8_t>(std::clamp(std::round(255.0f * recipe.mean[c]), 0.0f, 255.0f));
  }
  return color;
}

}  // namespace

void check_augment_options(const AugmentOptions& options) {
  const auto check = [](const char* name, float value, float low, float high) {
    if (!(value >= low && value <= high)) {
      fail_usage("augmentation: {} is {}, expected {} to {}", name, value, low, high);
    }
  };
  constexpr float kTiny = 1e-4f, kHuge = 1e4f;
  check("scale-min", options.scale_min, kTiny, 1);
  check("scale-max", options.scale_max, options.scale_min, 1);
  check("ratio-min", options.ratio_min, kTiny, kHuge);
  check("ratio-max", options.ratio_max, options.ratio_min, kHuge);
  check("pad", options.pad, 0, 1);
  check("flip", options.flip, 0, 1);
  check("rand-augment", static_cast<float>(options.rand_augment_ops), 0, 100);
  check("rand-augment-probability", options.rand_augment_probability, 0, 1);
  check("rand-augment-magnitude", options.rand_augment_magnitude, 0, 10);
  check("rand-augment-std", options.rand_augment_deviation, 0, 10);
  check("color-jitter", options.color_jitter, 0, 1);
  check("erase", options.erase, 0, 1);
  check("the smallest erased area", options.erase_area_min, 0, 1);
  check("the largest erased area", options.erase_area_max, options.erase_area_min, 1);
  check("the erased ratio", options.erase_ratio, kTiny, 1);
  check("cutout", options.cutout, 0, 1);
}

CropBox draw_resized_crop(const AugmentOptions& options, int width, int height,
                          RandomStream stream) {
  const double area = static_cast<double>(width) * height;
  for (int i = 0; i < kTries; ++i) {
    const Extent sides = draw_sides(options.scale_min * area, options.scale_max * area,
                                    options.ratio_min, options.ratio_max, stream);
    if (sides.width < 1 || sides.width > width || sides.height < 1 || sides.height > height) {
      continue;
    }
    CropBox box = {0, 0, static_cast<int>(sides.width), static_cast<int>(sides.height)};
    box.x = draw_start(width, box.width, stream);
    box.y = draw_start(height, box.height, stream);
    return box;
  }
  CropBox box = {0, 0, width, height};
  const double ratio = static_cast<double>(width) / height;
  const auto bounded = [](double side, int limit) {
    return static_cast<int>(std::clamp(std::round(side), 1.0, static_cast<double>(limit)));
  };
  if (ratio < options.ratio_min) {
    box.height = bounded(width / static_cast<double>(options.ratio_min), height);
  } else if (ratio > options.ratio_max) {
    box.width = bounded(height * static_cast<double>(options.ratio_max), width);
  }
  box.x = (width - box.width) / 2;
  box.y = (height - box.height) / 2;
  return box;
}

void augment(const Image& image, const Recipe& recipe, const AugmentOptions& options,
             RandomStream stream, float* out) {
  check_augment_options(options);
  if (image.width < 1 || image.height < 1 || recipe.crop < 1) {
    fail_usage("augmentation: an image of {}x{} pixels for an input of {}, expected at least 1",
               image.width, image.height, recipe.crop);
  }
  Image cropped = crop(image, recipe, options, stream.fork("crop"));
  if (stream.fork("flip").chance(options.flip)) flip_horizontal(cropped);
  if (options.rand_augment_ops > 0) {
    const RandAugmentOptions rand = {options.rand_augment_ops, options.rand_augment_probability,
                                     options.rand_augment_magnitude, options.rand_augment_deviation,
                                     mean_color(recipe)};
    rand_augment(rand, stream.fork("rand-augment"), cropped);
  }
  if (options.color_jitter > 0) {
    jitter_colors(options.color_jitter, stream.fork("jitter"), cropped);
  }
  normalise(cropped, recipe, out);
  if (options.erase > 0) erase(options, recipe.crop, stream.fork("erase"), out);
  if (options.cutout > 0) cut_out(options.cutout, recipe.crop, stream.fork("cutout"), out);
}

}  // namespace vig
