#include "vig/study/receptive_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>

#include "vig/base/error.h"
#include "vig/image/encode.h"
#include "vig/tasks/jpeg_uri.h"
#include "vig/tasks/svg.h"

namespace vig::study {
namespace {

constexpr std::string_view kLevels =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr double kDecades = 4;

// From black over red and yellow to white.
std::array<uint8_t, 3> heat(double v) {
  const auto channel = [&](double from, double to) {
    return static_cast<uint8_t>(std::lround(255 * std::clamp((v - from) / (to - from), 0.0, 1.0)));
  };
  return {channel(0, 0.45), channel(0.35, 0.8), channel(0.75, 1)};
}

// Every pixel three times in each direction, so that JPEG keeps edges between cells.
Image enlarged(const Image& image) {
  constexpr int kTimes = 3;
  Image large(kTimes * image.width, kTimes * image.height);
  for (int y = 0; y < large.height; ++y) {
    for (int x = 0; x < large.width; ++x) {
      std::copy_n(image.row(y / kTimes) + 3 * (x / kTimes), 3, large.row(y) + 3 * x);
    }
  }
  return large;
}

}  // namespace

ReceptiveField::ReceptiveField(int size)
    : size_(size), sums_(static_cast<size_t>(size) * static_cast<size_t>(size)) {}

double ReceptiveField::total() const { return std::accumulate(sums_.begin(), sums_.end(), 0.0); }

void ReceptiveField::add(std::span<const float> gradient) {
  if (gradient.size() != 3 * sums_.size()) {
    fail("[receptive field] {} gradients for an input of {} x {} x 3", gradient.size(), size_,
         size_);
  }
  for (const float value : gradient) {
    if (!std::isfinite(value)) fail("the gradient of the image is not finite");
  }
  for (size_t i = 0; i < gradient.size(); ++i) sums_[i / 3] += std::fabs(gradient[i]);
}

// Of the square of side 2 radius + 1 around the centre.
double ReceptiveField::square_sum(int radius) const {
  const int centre = size_ / 2;
  const int first = std::max(0, centre - radius), last = std::min(size_ - 1, centre + radius);
  double sum = 0;
  for (int y = first; y <= last; ++y) {
    for (int x = first; x <= last; ++x) sum += at(y, x);
  }
  return sum;
}

double ReceptiveField::area_holding(double share) const {
  const double all = total();
  if (all == 0) return 0;
  int radius = 0;
  // The last square is the whole input, whose sum has the order of rounding of another sum.
  while (radius < size_ / 2 && square_sum(radius) < share * all) ++radius;
  const double side = std::min(2 * radius + 1, size_);
  return side * side / (static_cast<double>(size_) * size_);
}

double ReceptiveField::outer_level() const {
  const double all = total();
  if (all == 0) return 0;
  const int radius = static_cast<int>(std::lround((size_ * std::sqrt(0.5) - 1) / 2));
  const double inside = std::pow(std::min(2 * radius + 1, size_), 2);
  const double pixels = static_cast<double>(size_) * size_;
  if (inside >= pixels) return 0;
  return std::max(0.0, all - square_sum(radius)) / (pixels - inside) / (all / pixels);
}

std::string ReceptiveField::text(int side) const {
  if (side < 1 || size_ % side != 0) {
    fail_usage("[receptive field] {} cells for an input of {}, expected a divisor of it", side,
               size_);
  }
  const int cell = size_ / side;
  std::vector<double> means(static_cast<size_t>(side) * static_cast<size_t>(side));
  for (int y = 0; y < size_; ++y) {
    for (int x = 0; x < size_; ++x) {
      means[static_cast<size_t>(y / cell) * side + x / cell] += at(y, x);
    }
  }
  const double largest = *std::ranges::max_element(means);
  std::string text;
  for (const double mean : means) {
    const double level = mean > 0 ? 1 + std::log10(mean / largest) / kDecades : 0;
    const double last = static_cast<double>(kLevels.size() - 1);
    text += kLevels[static_cast<size_t>(std::lround(last * std::max(0.0, level)))];
  }
  return text;
}

Image field_image(std::string_view text) {
  const int side = static_cast<int>(std::lround(std::sqrt(static_cast<double>(text.size()))));
  if (side == 0 || static_cast<size_t>(side) * side != text.size()) {
    fail("[receptive field] {} characters, expected a square number", text.size());
  }
  Image image(side, side);
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t level = kLevels.find(text[i]);
    if (level == kLevels.npos) fail("[receptive field] '{}' is no level", text[i]);
    const auto colour = heat(static_cast<double>(level) / static_cast<double>(kLevels.size() - 1));
    std::ranges::copy(colour, image.rgb.begin() + static_cast<std::ptrdiff_t>(3 * i));
  }
  return image;
}

std::string field_sheet_svg(const std::string& title, std::span<const FieldRow> rows) {
  constexpr double kTile = 150, kGap = 14, kLeft = 132, kTop = 44, kText = 34, kFont = 12;
  constexpr int kQuality = 88;
  size_t columns = 0;
  for (const FieldRow& row : rows) columns = std::max(columns, row.tiles.size());
  const double height_of_row = kTile + 2 * kText;
  const double width = kLeft + static_cast<double>(columns) * (kTile + kGap);
  const double height = kTop + static_cast<double>(rows.size()) * height_of_row;
  std::string svg = svg_head(width, height, kFont, title, kGap);
  const auto out = std::back_inserter(svg);
  double y = kTop;
  for (const FieldRow& row : rows) {
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", kGap, y + kText + kTile / 2,
                   svg_label(row.name, 40).xml);
    double x = kLeft;
    for (const FieldTile& tile : row.tiles) {
      fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, y + kText - 8,
                     svg_label(tile.title, 40).xml);
      fmt::format_to(out,
                     "<image x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" "
                     "href=\"{}\"/>\n",
                     x, y + kText, kTile, kTile,
                     jpeg_uri(encode_jpeg(enlarged(tile.image), kQuality)));
      fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, y + kText + kTile + 16,
                     svg_label(tile.note, 60).xml);
      x += kTile + kGap;
    }
    y += height_of_row;
  }
  return svg + "</svg>\n";
}

}  // namespace vig::study
