#include "vig/data/augment_objects.h"

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/data/photometric.h"

namespace vig {
namespace {

// The pixels of a seen box, outwards to whole ones.
Part whole_pixels(const Box& box, const View& view) {
  const int x = static_cast<int>(std::floor(box.x1)), y = static_cast<int>(std::floor(box.y1));
  return {x, y, std::min(view.width(), static_cast<int>(std::ceil(box.x2))) - x,
          std::min(view.height(), static_cast<int>(std::ceil(box.y2))) - y};
}

// A mask may reach over its box by what annotators round: a pixel of the source is added around.
Box widened(const Mask& mask, const Box& box) {
  const Box own = mask.bounds();
  return {std::min(own.x1, box.x1), std::min(own.y1, box.y1), std::max(own.x2, box.x2),
          std::max(own.y2, box.y2)};
}

PlacedMask place_mask(const Mask& mask, const Box& box, const View& view) {
  const std::vector<uint8_t> source = decode_mask(mask);
  const std::vector<int> columns = view.source_columns(), rows = view.source_rows();
  PlacedMask placed;
  placed.part = whole_pixels(view.box(widened(mask, box)), view);
  placed.part.width = std::max(0, placed.part.width);
  placed.part.height = std::max(0, placed.part.height);
  placed.pixels.reserve(static_cast<size_t>(placed.part.width) *
                        static_cast<size_t>(placed.part.height));
  for (int y = placed.part.y; y < placed.part.y + placed.part.height; ++y) {
    for (int x = placed.part.x; x < placed.part.x + placed.part.width; ++x) {
      const auto column = static_cast<size_t>(columns[static_cast<size_t>(view.transpose ? y : x)]);
      const auto row = static_cast<size_t>(rows[static_cast<size_t>(view.transpose ? x : y)]);
      placed.pixels.push_back(source[row * static_cast<size_t>(mask.width) + column]);
    }
  }
  return placed;
}

}  // namespace

PlacedObjects place_objects(const Objects& objects, const View& view) {
  PlacedObjects placed;
  placed.width = view.width();
  placed.height = view.height();
  for (const Object& object : objects.objects) {
    if (object.crowd) continue;
    PlacedObject seen;
    seen.box = view.box(object.box);
    seen.label = object.label;
    if (seen.box.width() < 1 || seen.box.height() < 1) continue;
    if (!object.mask.runs.empty()) {
      if (object.mask.width != view.source.width || object.mask.height != view.source.height) {
        fail("a mask of {}x{} for an image of {}x{}, expected equal sizes", object.mask.width,
             object.mask.height, view.source.width, view.source.height);
      }
      seen.mask = place_mask(object.mask, object.box, view);
      if (std::ranges::find(seen.mask.pixels, 1) == seen.mask.pixels.end()) continue;
    }
    placed.objects.push_back(std::move(seen));
  }
  return placed;
}

PlacedObjects augment_objects(const Image& image, const Objects& objects, const Recipe& recipe,
                              const ViewOptions& options, Sides canvas, const RandomStream& stream,
                              float* out) {
  View view = draw_view(recipe, options, {image.width, image.height}, canvas, stream);
  RandomStream positions = stream.fork("place");
  draw_position(view, positions);
  Image seen = view.apply(image, recipe.interpolation);
  if (options.photometric) distort_colors(stream.fork("photometric"), seen);
  write_canvas(seen, recipe, canvas, out);
  return place_objects(objects, view);
}

}  // namespace vig
