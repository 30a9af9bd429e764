#include "vig/image/draw.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "vig/base/error.h"
#include "vig/base/utf8.h"
#include "vig/image/font.h"

namespace vig {
namespace {

constexpr int kDotRows = 9, kDotColumns = 5;

// Blends from the old value to the new one in units of 1/256.
int weight_of(double alpha) {
  return static_cast<int>(std::lround(std::clamp(alpha, 0.0, 1.0) * 256));
}

void blend(uint8_t* pixel, const Color& color, int weight) {
  for (size_t c = 0; c < 3; ++c) {
    const int old = pixel[c];
    pixel[c] = static_cast<uint8_t>((old * (256 - weight) + color[c] * weight + 128) / 256);
  }
}

uint8_t* pixel_at(Image& image, int64_t x, int64_t y) {
  return image.row(static_cast<int>(y)) + x * 3;
}

int dot_row(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

}  // namespace

void fill_rectangle(Image& image, int x, int y, int width, int height, Color color, double alpha) {
  const int64_t left = std::max(x, 0), top = std::max(y, 0);
  const int64_t right = std::min<int64_t>(int64_t{x} + width, image.width);
  const int64_t bottom = std::min<int64_t>(int64_t{y} + height, image.height);
  const int weight = weight_of(alpha);
  for (int64_t row = top; row < bottom; ++row) {
    for (int64_t column = left; column < right; ++column) {
      blend(pixel_at(image, column, row), color, weight);
    }
  }
}

void draw_rectangle(Image& image, int x, int y, int width, int height, int thickness, Color color,
                    double alpha) {
  // Every pixel once, since alpha would show twice.
  const int top = std::min(thickness, height), bottom = std::min(thickness, height - top);
  const int left = std::min(thickness, width), right = std::min(thickness, width - left);
  fill_rectangle(image, x, y, width, top, color, alpha);
  fill_rectangle(image, x, y + height - bottom, width, bottom, color, alpha);
  fill_rectangle(image, x, y + top, left, height - top - bottom, color, alpha);
  fill_rectangle(image, x + width - right, y + top, right, height - top - bottom, color, alpha);
}

// Bresenham's algorithm: `error` is how far the line is off in both axes.
void draw_line(Image& image, int x1, int y1, int x2, int y2, Color color, double alpha) {
  const int weight = weight_of(alpha);
  const int64_t dx = std::abs(int64_t{x2} - x1), dy = -std::abs(int64_t{y2} - y1);
  const int sign_x = x1 < x2 ? 1 : -1, sign_y = y1 < y2 ? 1 : -1;
  // Points outside cost time only.
  if (std::max(dx, -dy) > 4 * (int64_t{image.width} + image.height) + 64) {
    fail_usage("[draw] a line from {}, {} to {}, {} on an image of {}x{}", x1, y1, x2, y2,
               image.width, image.height);
  }
  int64_t error = dx + dy;
  for (int x = x1, y = y1;;) {
    if (x >= 0 && y >= 0 && x < image.width && y < image.height) {
      blend(pixel_at(image, x, y), color, weight);
    }
    if (x == x2 && y == y2) return;
    const int64_t doubled = 2 * error;
    if (doubled >= dy) {
      error += dy;
      x += sign_x;
    }
    if (doubled <= dx) {
      error += dx;
      y += sign_y;
    }
  }
}

void fill_mask(Image& image, const Mask& mask, Color color, double alpha) {
  if (mask.width != image.width || mask.height != image.height) {
    fail_usage("[draw] a mask of {}x{} pixels on an image of {}x{}", mask.width, mask.height,
               image.width, image.height);
  }
  const int weight = weight_of(alpha);
  int64_t at = 0;
  for (size_t i = 0; i < mask.runs.size(); at += mask.runs[i], ++i) {
    if (i % 2 == 0) continue;
    for (int64_t pixel = at; pixel < at + mask.runs[i]; ++pixel) {
      blend(pixel_at(image, pixel / mask.height, pixel % mask.height), color, weight);
    }
  }
}

int text_width(std::string_view text, int scale) {
  int count = 0;
  for (; !text.empty(); ++count) take_character(text);
  return count * kFontWidth * scale;
}

void draw_text(Image& image, int x, int y, std::string_view text, Color color, int scale) {
  for (int64_t left = x; !text.empty() && left < image.width; left += int64_t{kFontWidth} * scale) {
    const std::optional<char32_t> letter = take_character(text);
    const bool known = letter && *letter >= ' ' && *letter <= '~';
    const char* rows = kFontRows[known ? *letter - ' ' : kFontRows.size() - 1];
    for (int row = 0; row < kDotRows; ++row) {
      const int dots = dot_row(rows[row]);
      for (int column = 0; column < kDotColumns; ++column) {
        if ((dots >> (kDotColumns - 1 - column) & 1) == 0) continue;
        fill_rectangle(image, static_cast<int>(left) + column * scale, y + row * scale, scale,
                       scale, color);
      }
    }
  }
}

}  // namespace vig
