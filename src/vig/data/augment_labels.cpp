#include "vig/data/augment_labels.h"

#include <algorithm>
#include <array>

#include "vig/base/error.h"
#include "vig/data/photometric.h"

namespace vig {
namespace {

constexpr int kViewTries = 10;

// Whether several classes are there, none of which has `most` of the labelled pixels or more.
bool is_mixed(const LabelMap& map, float most) {
  std::array<int64_t, 256> counts = {};
  for (const uint8_t label : map.labels) ++counts[label];
  counts[kNoLabel] = 0;
  int64_t all = 0, largest = 0, classes = 0;
  for (const int64_t count : counts) {
    all += count;
    largest = std::max(largest, count);
    classes += count > 0 ? 1 : 0;
  }
  return classes > 1 &&
         static_cast<double>(largest) < static_cast<double>(most) * static_cast<double>(all);
}

}  // namespace

LabelMap augment_labels(const Image& image, const LabelMap& labels, const Recipe& recipe,
                        const ViewOptions& options, const RandomStream& stream, float* out) {
  if (labels.width != image.width || labels.height != image.height) {
    fail("a label map of {}x{} for an image of {}x{}, expected equal sizes", labels.width,
         labels.height, image.width, image.height);
  }
  const Sides canvas{recipe.crop, recipe.crop};
  View view = draw_view(recipe, options, {image.width, image.height}, canvas, stream);
  RandomStream positions = stream.fork("place");
  LabelMap seen;
  for (int i = 0; i < kViewTries; ++i) {
    draw_position(view, positions);
    seen = view.labels(labels);
    if (is_mixed(seen, options.one_class_most)) break;
  }
  Image part = view.apply(image, recipe.interpolation);
  if (options.photometric) distort_colors(stream.fork("photometric"), part);
  write_canvas(part, recipe, canvas, out);
  LabelMap target(canvas.width, canvas.height);
  for (int y = 0; y < seen.height; ++y) std::copy_n(seen.row(y), seen.width, target.row(y));
  return target;
}

}  // namespace vig
