#include "vig/data/view.h"

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/image/preprocess.h"

namespace vig {
namespace {

// Of `count` positions from `first` on, of `resized` that show `source`; backwards if mirrored.
std::vector<int> nearest(int source, int resized, int first, int count, bool mirror) {
  std::vector<int> from(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    const int64_t at = first + (mirror ? count - 1 - i : i);
    from[static_cast<size_t>(i)] = static_cast<int>(at * source / resized);
  }
  return from;
}

Image mirrored(const Image& image, bool x, bool y) {
  Image result(image.width, image.height);
  for (int row = 0; row < image.height; ++row) {
    const uint8_t* from = image.row(y ? image.height - 1 - row : row);
    uint8_t* to = result.row(row);
    for (int column = 0; column < image.width; ++column) {
      std::copy_n(from + 3 * (x ? image.width - 1 - column : column), 3, to + 3 * column);
    }
  }
  return result;
}

Image transposed(const Image& image) {
  Image result(image.height, image.width);
  for (int row = 0; row < image.height; ++row) {
    const uint8_t* from = image.row(row);
    for (int column = 0; column < image.width; ++column) {
      std::copy_n(from + 3 * column, 3, result.row(column) + 3 * row);
    }
  }
  return result;
}

}  // namespace

void check_view_options(const ViewOptions& options) {
  const auto check = [](const char* name, float value, float low, float high) {
    if (!(value >= low && value <= high)) {
      fail_usage("augmentation: {} is {}, expected {} to {}", name, value, low, high);
    }
  };
  check("resize-min", options.resize_min, 0.01f, 100);
  check("resize-max", options.resize_max, options.resize_min, 100);
  check("flip", options.flip, 0, 1);
  check("flip-vertical", options.flip_vertical, 0, 1);
  check("transpose", options.transpose, 0, 1);
  check("one-class-most", options.one_class_most, 0, 1);
}

Sides fitted_sides(const Recipe& recipe, float factor, Sides image) {
  if (image.width < 1 || image.height < 1 || recipe.resize < 1 || recipe.longest < 1) {
    fail_usage("an image of {}x{} pixels for a short side of {} and a long one of {}", image.width,
               image.height, recipe.resize, recipe.longest);
  }
  const double largest = std::max(recipe.longest, recipe.resize);
  const double smallest = std::min(recipe.longest, recipe.resize);
  const auto [low, high] = std::minmax(image.width, image.height);
  const double scale = std::min(std::max(1.0, std::floor(largest * factor)) / high,
                                std::max(1.0, std::floor(smallest * factor)) / low);
  const auto side = [&](int length) {
    return std::max(1, static_cast<int>(static_cast<double>(length) * scale + 0.5));
  };
  return {side(image.width), side(image.height)};
}

Image View::apply(const Image& image, Interpolation interpolation) const {
  Image seen = resize_part(image, resized.width, resized.height, part, interpolation);
  if (mirror_x || mirror_y) seen = mirrored(seen, mirror_x, mirror_y);
  return transpose ? transposed(seen) : seen;
}

LabelMap View::labels(const LabelMap& map) const {
  const std::vector<int> columns = source_columns(), rows = source_rows();
  LabelMap seen(width(), height());
  for (int y = 0; y < part.height; ++y) {
    const uint8_t* from = map.row(rows[static_cast<size_t>(y)]);
    for (int x = 0; x < part.width; ++x) {
      const uint8_t label = from[columns[static_cast<size_t>(x)]];
      if (transpose) {
        seen.row(x)[y] = label;
      } else {
        seen.row(y)[x] = label;
      }
    }
  }
  return seen;
}

Box View::box(const Box& box) const {
  const auto scaled = [](float at, int from, int to, int first, int count) {
    const float position = at * (static_cast<float>(to) / static_cast<float>(from));
    return std::clamp(position - static_cast<float>(first), 0.0f, static_cast<float>(count));
  };
  const auto x = [&](float at) {
    return scaled(at, source.width, resized.width, part.x, part.width);
  };
  const auto y = [&](float at) {
    return scaled(at, source.height, resized.height, part.y, part.height);
  };
  Box seen{x(box.x1), y(box.y1), x(box.x2), y(box.y2)};
  const auto mirror = [](float& low, float& high, int side) {
    const float before = low;
    low = static_cast<float>(side) - high;
    high = static_cast<float>(side) - before;
  };
  if (mirror_x) mirror(seen.x1, seen.x2, part.width);
  if (mirror_y) mirror(seen.y1, seen.y2, part.height);
  if (transpose) seen = {seen.y1, seen.x1, seen.y2, seen.x2};
  return seen;
}

std::vector<int> View::source_columns() const {
  return nearest(source.width, resized.width, part.x, part.width, mirror_x);
}

std::vector<int> View::source_rows() const {
  return nearest(source.height, resized.height, part.y, part.height, mirror_y);
}

View draw_view(const Recipe& recipe, const ViewOptions& options, Sides image, Sides canvas,
               const RandomStream& stream) {
  View view;
  view.source = image;
  const float factor = stream.fork("resize").uniform(options.resize_min, options.resize_max);
  view.resized = fitted_sides(recipe, factor, image);
  view.mirror_x = stream.fork("flip").chance(options.flip);
  view.mirror_y = stream.fork("flip-vertical").chance(options.flip_vertical);
  view.transpose = stream.fork("transpose").chance(options.transpose);
  if (view.transpose) std::swap(canvas.width, canvas.height);
  view.part.width = std::min(view.resized.width, canvas.width);
  view.part.height = std::min(view.resized.height, canvas.height);
  return view;
}

void draw_position(View& view, RandomStream& stream) {
  const auto start = [&](int side, int part) {
    return static_cast<int>(stream.below(static_cast<uint64_t>(side - part) + 1));
  };
  view.part.y = start(view.resized.height, view.part.height);
  view.part.x = start(view.resized.width, view.part.width);
}

void write_canvas(const Image& image, const Recipe& recipe, Sides canvas, float* out) {
  const auto row = static_cast<size_t>(canvas.width) * 3;
  std::fill_n(out, row * static_cast<size_t>(canvas.height), 0.0f);
  std::vector<float> packed(image.rgb.size());
  normalise(image, recipe, packed.data());
  for (int y = 0; y < image.height; ++y) {
    std::copy_n(packed.data() + static_cast<size_t>(y) * image.row_bytes(), image.row_bytes(),
                out + static_cast<size_t>(y) * row);
  }
}

}  // namespace vig
