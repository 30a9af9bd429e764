// How an image is seen in training where its target has positions: a part of the resized image,
// mirrored and transposed. Labels, boxes and masks move along with the image.
#pragma once

#include <vector>

#include "vig/base/random.h"
#include "vig/base/recipe.h"
#include "vig/image/box.h"
#include "vig/image/image.h"
#include "vig/image/resize_part.h"

namespace vig {

struct ViewOptions {
  // The image's size, as a factor of the recipe's; drawn uniformly.
  float resize_min = 1.0f, resize_max = 1.0f;
  float flip = 0.5f;           // probability of mirroring left and right
  float flip_vertical = 0.0f;  // the same of top and bottom
  // Probability of exchanging rows and columns. With 0.5 here and for both flips an image is seen
  // in each of its eight positions equally often, as suits images without an up.
  float transpose = 0.0f;
  // Photometric distortion of the colours, see data/photometric.h.
  bool photometric = false;
  // Segmentation alone: a part is drawn again, up to ten times, while one class has at least this
  // share of its labelled pixels, or is the only one there.
  float one_class_most = 0.75f;
  bool operator==(const ViewOptions&) const = default;
};

// Throws Error (usage) naming the first number that makes no sense.
void check_view_options(const ViewOptions& options);

struct Sides {
  int width = 0, height = 0;
  bool operator==(const Sides&) const = default;
};

// An image of this size, its aspect kept, as large as a short side of int(recipe.resize * factor)
// and a long side of int(recipe.longest * factor) allow; sides round to the nearest.
Sides fitted_sides(const Recipe& recipe, float factor, Sides image);

// In order: resize to `resized`, cut `part` out, mirror, transpose.
struct View {
  Sides source, resized;
  Part part;
  bool mirror_x = false, mirror_y = false, transpose = false;

  // Of what is seen.
  int width() const { return transpose ? part.height : part.width; }
  int height() const { return transpose ? part.width : part.height; }

  Image apply(const Image& image, Interpolation interpolation) const;
  // Nearest neighbours: position x of n resized columns shows column floor(x * source / n).
  LabelMap labels(const LabelMap& map) const;
  // Clipped to what is seen; empty (no width or no height) where nothing of it is.
  Box box(const Box& box) const;
  // The column, or row, of the source image behind each column and row of the part.
  std::vector<int> source_columns() const;
  std::vector<int> source_rows() const;
};

// Draws all but the part's position, which is at the top left; at most `canvas` is seen.
View draw_view(const Recipe& recipe, const ViewOptions& options, Sides image, Sides canvas,
               const RandomStream& stream);
// Moves the part anywhere inside of the resized image.
void draw_position(View& view, RandomStream& stream);

// Writes canvas.height x canvas.width x 3 floats: the image, normalised, at the top left, and
// zeros right of it and below.
void write_canvas(const Image& image, const Recipe& recipe, Sides canvas, float* out);

}  // namespace vig
