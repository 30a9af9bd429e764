// Effective receptive fields: which pixels of an image one position of a network's last feature
// map responds to, as an image and in figures.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/image/image.h"

namespace vig::study {

// The contribution of every pixel of an input of size x size, row by row: the absolute gradient
// summed over the colours, added up over images. Not negative.
class ReceptiveField {
 public:
  explicit ReceptiveField(int size);

  int size() const { return size_; }
  double at(int y, int x) const { return sums_[static_cast<size_t>(y) * size_ + x]; }
  double total() const;

  // Adds one image's gradient, [size, size, 3]. Throws Error where a value is not finite.
  void add(std::span<const float> gradient);

  // The area of the smallest square around the centre pixel (size / 2, size / 2) that holds at
  // least `share` of all contribution, as a share of the input's area: RepLKNet's
  // "high-contribution area ratio". What lies beyond the input holds nothing. 0 where there is no
  // contribution.
  double area_holding(double share) const;

  // The mean contribution of a pixel outside of the centred square of half the input's area,
  // divided by that of a pixel of the whole input: 1 for a field that is the same everywhere, 0 for
  // one that ends within the square.
  double outer_level() const;

  // The field in small, for a cell of a table: side x side characters, row by row, one for each of
  // 64 levels of a logarithmic scale from 'A' (below 1 / 10000 of the largest contribution) over a
  // to z and the digits to '/' (the largest). A character shows the mean of the pixels it stands
  // for; `side` divides the size.
  std::string text(int side) const;

 private:
  double square_sum(int radius) const;

  int size_;
  std::vector<double> sums_;
};

// What text() gave, as an image: black where there is nothing, white at the largest contribution.
// Throws Error where it is no such text.
Image field_image(std::string_view text);

// One field of a sheet: a title above the image and a note below it.
struct FieldTile {
  std::string title, note;
  Image image;
};

// Fields beside each other, with a name before them.
struct FieldRow {
  std::string name;
  std::vector<FieldTile> tiles;
};

// All rows as one SVG that holds the images itself.
std::string field_sheet_svg(const std::string& title, std::span<const FieldRow> rows);

}  // namespace vig::study
