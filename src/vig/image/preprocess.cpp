#include "vig/image/preprocess.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "vig/base/error.h"
#include "vig/kernels/resize.h"

namespace vig {
namespace {

// Where a crop starts along one axis; negative when the image is smaller, by the padding before
// it.
int64_t crop_start(int64_t side, int64_t crop) {
  if (crop > side) return -((crop - side) / 2);
  const int64_t half = (side - crop) / 2;
  const bool tie = (side - crop) % 2 != 0;
  return half + (tie && half % 2 != 0 ? 1 : 0);
}

void check_sides(int width, int height) {
  if (width < 1 || height < 1 || width > kMaxResizeSide || height > kMaxResizeSide) {
    fail_usage("an image of {}x{} pixels, expected sides of 1 to {}", width, height,
               kMaxResizeSide);
  }
}

// One axis of the crop: what to compute, and where it goes in the padded crop.
struct Window {
  ResizeAxis axis;
  int64_t start;
};

Window make_window(int64_t in, int64_t out, int64_t crop_start, int64_t crop) {
  const int64_t first = std::max<int64_t>(0, crop_start);
  return {{in, out, first, std::min(out, crop_start + crop) - first},
          std::max<int64_t>(0, -crop_start)};
}

struct Size {
  int64_t width = 0, height = 0;
};

// Of the whole image, its aspect kept.
Size scaled_size(const Recipe& recipe, int width, int height) {
  const double factor = std::min(static_cast<double>(recipe.longest) / std::max(width, height),
                                 static_cast<double>(recipe.resize) / std::min(width, height));
  const auto scaled = [&](int side) {
    return std::max<int64_t>(1, static_cast<int64_t>(side * factor + 0.5));
  };
  return {scaled(width), scaled(height)};
}

Placement place_whole(const Recipe& recipe, int width, int height) {
  if (recipe.longest < 1 || recipe.multiple < 1) {
    fail_usage("a recipe of sides up to {} in multiples of {}, expected positive numbers",
               recipe.longest, recipe.multiple);
  }
  const Size scaled = scaled_size(recipe, width, height);
  const auto rounded_up = [&](int64_t side) {
    return (side + recipe.multiple - 1) / recipe.multiple * recipe.multiple;
  };
  const Size input = {rounded_up(scaled.width), rounded_up(scaled.height)};
  const Size resized = recipe.framing == Framing::kStretch ? input : scaled;
  return {width,
          height,
          resized.width,
          resized.height,
          0,
          0,
          static_cast<int>(input.width),
          static_cast<int>(input.height)};
}

Image resize_to(const Image& image, const Size& size, Interpolation interpolation) {
  if (image.width == size.width && image.height == size.height) return image;
  return resize_image(image, static_cast<int>(size.width), static_cast<int>(size.height),
                      interpolation);
}

void preprocess_whole(const Image& image, const Recipe& recipe, const Placement& placement,
                      float* out) {
  Image resized =
      resize_to(image, scaled_size(recipe, image.width, image.height), recipe.interpolation);
  if (recipe.framing == Framing::kStretch) {
    resized =
        resize_to(resized, {placement.input_width, placement.input_height}, recipe.interpolation);
  }
  normalise(resized, recipe, out);
  const size_t row = resized.row_bytes();  // floats of a row, too
  const auto wide = static_cast<size_t>(placement.input_width) * 3;
  const auto rows = static_cast<size_t>(placement.input_height);
  const auto filled = static_cast<size_t>(resized.height);
  // From the last row on, so that none is overwritten before it is moved.
  for (size_t y = filled; wide > row && y-- > 0;) {
    std::memmove(out + y * wide, out + y * row, row * sizeof(float));
    std::fill(out + y * wide + row, out + (y + 1) * wide, 0.0f);
  }
  std::fill(out + filled * wide, out + rows * wide, 0.0f);
}

}  // namespace

double Placement::input_x(double source_x) const {
  return source_x * scale_x() - static_cast<double>(crop_x);
}

double Placement::input_y(double source_y) const {
  return source_y * scale_y() - static_cast<double>(crop_y);
}

Placement place(const Recipe& recipe, int width, int height) {
  if (recipe.resize < 1 || recipe.crop < 1) {
    fail_usage("a recipe that resizes to {} and crops to {}, expected positive sizes",
               recipe.resize, recipe.crop);
  }
  check_sides(width, height);
  if (recipe.framing != Framing::kCrop) return place_whole(recipe, width, height);
  const int64_t size = recipe.resize;
  Placement placement;
  placement.source_width = width;
  placement.source_height = height;
  placement.resized_width = width <= height ? size : size * width / height;
  placement.resized_height = width <= height ? size * height / width : size;
  placement.crop_x = crop_start(placement.resized_width, recipe.crop);
  placement.crop_y = crop_start(placement.resized_height, recipe.crop);
  placement.input_width = placement.input_height = recipe.crop;
  return placement;
}

Image crop_to_recipe(const Image& image, const Recipe& recipe) {
  if (recipe.framing != Framing::kCrop) fail_usage("a recipe without a crop, expected one with it");
  const Placement placement = place(recipe, image.width, image.height);
  const Window x = make_window(image.width, placement.resized_width, placement.crop_x, recipe.crop);
  const Window y =
      make_window(image.height, placement.resized_height, placement.crop_y, recipe.crop);
  Image crop(recipe.crop, recipe.crop);
  if (x.axis.count == recipe.crop && y.axis.count == recipe.crop) {
    resize_rgb(image.rgb.data(), x.axis, y.axis, recipe.interpolation, crop.rgb.data());
    return crop;
  }
  Image part(static_cast<int>(x.axis.count), static_cast<int>(y.axis.count));
  resize_rgb(image.rgb.data(), x.axis, y.axis, recipe.interpolation, part.rgb.data());
  for (int row = 0; row < part.height; ++row) {
    std::copy_n(part.row(row), part.row_bytes(),
                crop.row(static_cast<int>(y.start) + row) + x.start * 3);
  }
  return crop;
}

Image resize_image(const Image& image, int width, int height, Interpolation interpolation) {
  check_sides(image.width, image.height);
  if (width < 1 || height < 1) {
    fail_usage("a resize to {}x{} pixels, expected at least 1x1", width, height);
  }
  Image result(width, height);
  resize_rgb(image.rgb.data(), {image.width, width, 0, width}, {image.height, height, 0, height},
             interpolation, result.rgb.data());
  return result;
}

void normalise(const Image& image, const Recipe& recipe, float* out) {
  // 256 values per channel: a table gives torchvision's float operations exactly, and cheaply.
  std::array<std::array<float, 256>, 3> table;
  for (size_t c = 0; c < 3; ++c) {
    for (size_t value = 0; value < 256; ++value) {
      table[c][value] = (static_cast<float>(value) / 255.0f - recipe.mean[c]) / recipe.std[c];
    }
  }
  for (size_t i = 0; i < image.rgb.size(); i += 3) {
    for (size_t c = 0; c < 3; ++c) out[i + c] = table[c][image.rgb[i + c]];
  }
}

Placement preprocess(const Image& image, const Recipe& recipe, float* out) {
  const Placement placement = place(recipe, image.width, image.height);
  if (recipe.framing == Framing::kCrop) {
    normalise(crop_to_recipe(image, recipe), recipe, out);
  } else {
    preprocess_whole(image, recipe, placement, out);
  }
  return placement;
}

}  // namespace vig
