#include "vig/tasks/explanation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "vig/base/error.h"
#include "vig/image/draw.h"
#include "vig/tasks/classification.h"
#include "vig/tasks/drawing_scale.h"

namespace vig {
namespace {

double dot(const float* a, const float* b, int64_t count) {
  double sum = 0;
  for (int64_t c = 0; c < count; ++c) sum += static_cast<double>(a[c]) * b[c];
  return sum;
}

// exp(logsigmoid(z) / 16), which neither overflows nor loses small gates.
double gate_decay(float z) {
  const double x = z;
  const double log_sigmoid = x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x));
  return std::exp(log_sigmoid / 16);
}

// Adds the factors of one direction: from the query to the first token or to the last.
void add_direction(const GlaTokens& tokens, int64_t query, const float* gates, int stride,
                   double factor, std::vector<float>& weights) {
  const float* const q = tokens.q + query * tokens.stride;
  std::vector<double> decayed(q, q + tokens.key_dim);
  for (int64_t j = query; j >= 0 && j < tokens.tokens; j += stride) {
    const float* const k = tokens.k + j * tokens.stride;
    double sum = 0;
    for (int64_t c = 0; c < tokens.key_dim; ++c) sum += decayed[static_cast<size_t>(c)] * k[c];
    weights[static_cast<size_t>(j)] += static_cast<float>(factor * sum);
    // The gate of a token decays what stands before it in the direction of the scan.
    const float* const gate = gates + j * tokens.gate_stride;
    for (int64_t c = 0; c < tokens.key_dim; ++c) {
      decayed[static_cast<size_t>(c)] *= gate_decay(gate[c]);
    }
  }
}

// The value of the map at a continuous position of its grid, cell centres at + 0.5.
double sample(const TokenMap& map, double x, double y) {
  const double u = std::clamp(x - 0.5, 0.0, static_cast<double>(map.width - 1));
  const double v = std::clamp(y - 0.5, 0.0, static_cast<double>(map.height - 1));
  const int x0 = static_cast<int>(u), y0 = static_cast<int>(v);
  const int x1 = std::min(x0 + 1, map.width - 1), y1 = std::min(y0 + 1, map.height - 1);
  const auto at = [&](int row, int column) {
    return static_cast<double>(
        map.values[static_cast<size_t>(row) * static_cast<size_t>(map.width) +
                   static_cast<size_t>(column)]);
  };
  const double fx = u - x0, fy = v - y0;
  return (at(y0, x0) * (1 - fx) + at(y0, x1) * fx) * (1 - fy) +
         (at(y1, x0) * (1 - fx) + at(y1, x1) * fx) * fy;
}

constexpr std::array<double, 3> kFor = {214, 39, 40};
constexpr std::array<double, 3> kAgainst = {31, 90, 200};
constexpr double kUnseen = 0.35;  // brightness of what the network did not see

// A grey of 0 to 255 covered by the colour of a value from -1 to 1.
Color covered(double grey, double value, double opacity) {
  const std::array<double, 3>& colour = value < 0 ? kAgainst : kFor;
  const double cover = opacity * std::abs(value);
  Color result;
  for (size_t c = 0; c < 3; ++c) {
    result[c] = static_cast<uint8_t>(std::lround(grey * (1 - cover) + colour[c] * cover));
  }
  return result;
}

double strongest_of(const TokenMap& map) {
  double strongest = 0;
  for (const float value : map.values) {
    strongest = std::max(strongest, std::abs(static_cast<double>(value)));
  }
  return strongest;
}

}  // namespace

TokenMap evidence_map(const float* features, int height, int width, std::span<const float> weight,
                      float bias) {
  TokenMap map{height, width, {}};
  const auto channels = static_cast<int64_t>(weight.size());
  for (int64_t t = 0; t < static_cast<int64_t>(height) * width; ++t) {
    const double sum = dot(features + t * channels, weight.data(), channels);
    map.values.push_back(static_cast<float>(sum + bias));
  }
  return map;
}

TokenMap difference(const TokenMap& a, const TokenMap& b) {
  if (a.height != b.height || a.width != b.width) {
    fail("[explain] maps of {} x {} and {} x {}, expected equal ones", a.height, a.width, b.height,
         b.width);
  }
  TokenMap map = a;
  for (size_t t = 0; t < map.values.size(); ++t) map.values[t] -= b.values[t];
  return map;
}

std::vector<float> gla_weights(const GlaTokens& tokens, int64_t query) {
  std::vector<float> weights(static_cast<size_t>(tokens.tokens));
  const bool both = tokens.forward_gates != nullptr && tokens.backward_gates != nullptr;
  const double factor = (both ? 0.5 : 1.0) / std::sqrt(static_cast<double>(tokens.key_dim));
  if (tokens.forward_gates != nullptr) {
    add_direction(tokens, query, tokens.forward_gates, -1, factor, weights);
  }
  if (tokens.backward_gates != nullptr) {
    add_direction(tokens, query, tokens.backward_gates, 1, factor, weights);
  }
  return weights;
}

std::vector<float> softmax_weights(const SoftmaxTokens& tokens, int64_t query) {
  std::vector<float> weights;
  const double factor = 1 / std::sqrt(static_cast<double>(tokens.head_dim));
  const float* const q = tokens.q + query * tokens.stride;
  for (int64_t j = 0; j < tokens.tokens; ++j) {
    weights.push_back(
        static_cast<float>(factor * dot(q, tokens.k + j * tokens.stride, tokens.head_dim)));
  }
  softmax(weights);
  return weights;
}

void scale_by_norms(std::span<float> weights, const float* v, int64_t dim, int64_t stride) {
  for (size_t j = 0; j < weights.size(); ++j) {
    const float* const row = v + static_cast<int64_t>(j) * stride;
    weights[j] = static_cast<float>(weights[j] * std::sqrt(dot(row, row, dim)));
  }
}

Image draw_map(const Image& image, const SeenPart& seen, const TokenMap& map, double opacity) {
  if (map.values.empty() || !(seen.width > 0 && seen.height > 0)) {
    fail("[explain] a map of {} x {} over {} x {} pixels, expected at least 1 of each", map.height,
         map.width, seen.width, seen.height);
  }
  const double strongest = strongest_of(map);
  Image drawn = image;
  for (int y = 0; y < image.height; ++y) {
    uint8_t* pixel = drawn.row(y);
    for (int x = 0; x < image.width; ++x, pixel += 3) {
      const double u = (x + 0.5 - seen.x) / seen.width, v = (y + 0.5 - seen.y) / seen.height;
      const bool outside = u < 0 || u >= 1 || v < 0 || v >= 1;
      const double value =
          outside || strongest == 0 ? 0.0 : sample(map, u * map.width, v * map.height) / strongest;
      const double grey = 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2];
      std::ranges::copy(covered(grey * (outside ? kUnseen : 1.0), value, opacity), pixel);
    }
  }
  return drawn;
}

Image draw_explanation(const Image& image, const SeenPart& seen, const TokenMap& map,
                       double opacity) {
  const DrawingScale scale = drawing_scale(image.width, image.height);
  const double factor = scale.image;
  const Image drawn = draw_map(
      enlarged(image, scale.image),
      {seen.x * factor, seen.y * factor, seen.width * factor, seen.height * factor}, map, opacity);
  const int dot = scale.text, margin = 4 * dot, bar = kFontHeight * dot;
  const int width = std::max(1, drawn.width - 2 * margin);
  Image sheet(drawn.width, drawn.height + 3 * margin + bar + kFontHeight * dot);
  fill_rectangle(sheet, 0, 0, sheet.width, sheet.height, kPaperColor);
  std::ranges::copy(drawn.rgb, sheet.rgb.begin());

  constexpr double kGrey = 128;
  const double strongest = strongest_of(map);
  const bool both = std::ranges::any_of(map.values, [](float value) { return value < 0; });
  const double least = both ? -1 : 0;
  const int top = drawn.height + margin;
  for (int x = 0; x < width; ++x) {
    const double value = least + (x + 0.5) / width * (1 - least);
    fill_rectangle(sheet, margin + x, top, 1, bar, covered(kGrey, value, opacity));
  }
  // The values of the ends, and of the middle where there is room for it.
  const auto write = [&](double value, double at) {  // at: 0 left, 0.5 in the middle, 1 right
    const std::string text = fmt::format("{:.3g}", value);
    const int x = margin + static_cast<int>(at * (width - text_width(text, dot)));
    draw_text(sheet, x, top + bar + margin, text, kInkColor, dot);
  };
  write(least * strongest, 0);
  if (width >= 30 * kFontWidth * dot) write((least + 1) / 2 * strongest, 0.5);
  write(strongest, 1);
  return sheet;
}

SeenPart seen_part(const Placement& placement) {
  SeenPart seen;
  seen.x = placement.source_x(0);
  seen.y = placement.source_y(0);
  seen.width = placement.source_x(placement.input_width) - seen.x;
  seen.height = placement.source_y(placement.input_height) - seen.y;
  return seen;
}

Image side_by_side(std::span<const Image> drawings) {
  constexpr int kGap = 8;
  int width = -kGap, height = 0;
  for (const Image& drawing : drawings) {
    width += drawing.width + kGap;
    height = std::max(height, drawing.height);
  }
  Image all(std::max(width, 0), height);
  std::ranges::fill(all.rgb, uint8_t{255});
  int left = 0;
  for (const Image& drawing : drawings) {
    for (int y = 0; y < drawing.height; ++y) {
      std::copy_n(drawing.row(y), drawing.row_bytes(), all.row(y) + int64_t{3} * left);
    }
    left += drawing.width + kGap;
  }
  return all;
}

}  // namespace vig
