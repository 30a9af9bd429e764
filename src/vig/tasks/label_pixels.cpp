#include "vig/tasks/label_pixels.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <new>

#include "vig/base/error.h"

namespace vig {
namespace {

// Two positions of an axis and the share of the second.
struct Tap {
  int first = 0, second = 0;
  float weight = 0;
};

Tap tap_of(int at, int in, int out) {
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  const float position = std::max((static_cast<float>(at) + 0.5f) * scale - 0.5f, 0.0f);
  const int first = std::min(static_cast<int>(position), in - 1);
  return {first, std::min(first + 1, in - 1), position - static_cast<float>(first)};
}

std::vector<Tap> taps_of(int in, int out) {
  std::vector<Tap> taps;
  for (int at = 0; at < out; ++at) taps.push_back(tap_of(at, in, out));
  return taps;
}

// out = a + weight * (b - a), written so that equal values stay what they are.
void mix(const float* a, const float* b, float weight, size_t count, float* out) {
  const float other = 1.0f - weight;
  for (size_t i = 0; i < count; ++i) out[i] = other * a[i] + weight * b[i];
}

// Rows of the field for one band of the image, of which the last two are kept.
class FieldRows {
 public:
  explicit FieldRows(const LogitField& field)
      : field_(field),
        rows_{std::vector<float>(floats()), std::vector<float>(floats())},
        mixed_(floats()) {}

  const float* between(const Tap& tap) {
    const float* first = row(tap.first);
    if (tap.weight == 0.0f || tap.first == tap.second) return first;
    const float* second = row(tap.second);
    mix(first, second, tap.weight, mixed_.size(), mixed_.data());
    return mixed_.data();
  }

 private:
  size_t floats() const {
    return static_cast<size_t>(field_.width()) * static_cast<size_t>(field_.classes());
  }
  const float* row(int y) {
    const auto slot = static_cast<size_t>(y % 2);  // neighbours have different slots
    if (slot_rows_[slot] != y) {
      field_.row(y, rows_[slot], scratch_);
      slot_rows_[slot] = y;
    }
    return rows_[slot].data();
  }

  const LogitField& field_;
  std::vector<float> rows_[2];
  int slot_rows_[2] = {-1, -1};
  std::vector<float> mixed_;
  std::vector<float> scratch_;
};

void softmax(const float* logits, size_t count, float* out) {
  const float most = *std::max_element(logits, logits + count);
  float sum = 0;
  for (size_t i = 0; i < count; ++i) {
    out[i] = std::exp(logits[i] - most);
    sum += out[i];
  }
  for (size_t i = 0; i < count; ++i) out[i] /= sum;
}

}  // namespace

LogitField::LogitField(int width, int height, int classes, std::vector<WindowLogits> windows)
    : width_(width), height_(height), classes_(classes) {
  for (WindowLogits& one : windows) add(std::move(one));
}

void LogitField::add(WindowLogits one) {
  const InputWindow& window = one.window;
  const size_t floats = static_cast<size_t>(one.height) * static_cast<size_t>(one.width) *
                        static_cast<size_t>(classes_);
  if (window.x < 0 || window.y < 0 || window.x + window.width > width_ ||
      window.y + window.height > height_ || one.logits.size() != floats || floats == 0) {
    fail_usage("logits of a window that do not fit the input of {}x{}", width_, height_);
  }
  if (!std::ranges::all_of(one.logits, [](float value) { return std::isfinite(value); })) {
    fail("the network's outputs are not finite");
  }
  floats_ += floats;
  windows_.push_back(std::move(one));
}

void LogitField::forget_above(int y) {
  std::erase_if(windows_, [&](const WindowLogits& one) {
    const bool above = one.window.y + one.window.height <= y;
    if (above) floats_ -= one.logits.size();
    return above;
  });
}

void LogitField::row(int y, std::span<float> out, std::vector<float>& scratch) const {
  const auto classes = static_cast<size_t>(classes_);
  std::vector<int> covered(static_cast<size_t>(width_), 0);
  std::ranges::fill(out, 0.0f);
  for (const WindowLogits& one : windows_) {
    const InputWindow& window = one.window;
    if (y < window.y || y >= window.y + window.height) continue;
    const size_t line = static_cast<size_t>(one.width) * classes;
    scratch.resize(line);
    const Tap v = tap_of(y - window.y, one.height, window.height);
    mix(one.logits.data() + static_cast<size_t>(v.first) * line,
        one.logits.data() + static_cast<size_t>(v.second) * line, v.weight, line, scratch.data());
    for (int x = 0; x < window.width; ++x) {
      const Tap u = tap_of(x, one.width, window.width);
      const float* a = scratch.data() + static_cast<size_t>(u.first) * classes;
      const float* b = scratch.data() + static_cast<size_t>(u.second) * classes;
      const auto column = static_cast<size_t>(window.x + x);
      float* sum = out.data() + column * classes;
      const float other = 1.0f - u.weight;
      for (size_t c = 0; c < classes; ++c) sum[c] += other * a[c] + u.weight * b[c];
      ++covered[column];
    }
  }
  for (size_t x = 0; x < covered.size(); ++x) {
    if (covered[x] == 0) {
      std::fill_n(out.data() + x * classes, classes, std::numeric_limits<float>::quiet_NaN());
    }
    if (covered[x] < 2) continue;
    const auto count = static_cast<float>(covered[x]);
    for (size_t c = 0; c < classes; ++c) out[x * classes + c] /= count;
  }
}

int labelled_rows(int field_height, int height, int known) {
  if (known >= field_height) return height;
  int first = 0, last = height;  // rows below `first` follow, row `last` does not
  while (first < last) {
    const int middle = first + (last - first) / 2;
    const Tap tap = tap_of(middle, field_height, height);
    if ((tap.weight == 0.0f ? tap.first : tap.second) < known) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

Segmentation label_rows(const LogitField& field, int width, int height, const LabelRows& rows,
                        ThreadPool& pool) {
  constexpr int kBandRows = 16;
  if (field.classes() > kNoLabel) {
    fail("{} classes, expected at most {} (a fixed limit)", field.classes(), kNoLabel);
  }
  const auto classes = static_cast<size_t>(field.classes());
  Segmentation result;
  result.labels = LabelMap(width, rows.last - rows.first, 0);
  if (rows.probabilities) {
    result.probabilities.resize(result.labels.labels.size() * classes);
  }
  const std::vector<Tap> columns = taps_of(field.width(), width);
  std::atomic<int> next_band{0};
  std::atomic<bool> failed{false};
  const auto label_band = [&](FieldRows& lines, int first, std::vector<float>& mixed) {
    for (int y = first; y < std::min(first + kBandRows, result.labels.height); ++y) {
      const float* line = lines.between(tap_of(rows.first + y, field.height(), height));
      uint8_t* labels = result.labels.row(y);
      for (int x = 0; x < width; ++x) {
        const Tap& tap = columns[static_cast<size_t>(x)];
        const float* pixel = line + static_cast<size_t>(tap.first) * classes;
        if (tap.weight != 0.0f) {
          mix(pixel, line + static_cast<size_t>(tap.second) * classes, tap.weight, classes,
              mixed.data());
          pixel = mixed.data();
        }
        labels[x] = std::isnan(*pixel)
                        ? kNoLabel
                        : static_cast<uint8_t>(std::max_element(pixel, pixel + classes) - pixel);
        if (!rows.probabilities) continue;
        const size_t at =
            static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x);
        softmax(pixel, classes, result.probabilities.data() + at * classes);
      }
    }
  };
  pool.run([&](int) {
    try {
      FieldRows lines(field);
      std::vector<float> mixed(classes);
      for (;;) {
        const int first = next_band.fetch_add(1) * kBandRows;
        if (first >= result.labels.height || failed) return;
        label_band(lines, first, mixed);
      }
    } catch (const std::bad_alloc&) {
      failed = true;
    }
  });
  if (failed) throw std::bad_alloc();
  return result;
}

Segmentation label_pixels(const LogitField& field, int width, int height, bool probabilities,
                          ThreadPool& pool) {
  return label_rows(field, width, height, {0, height, probabilities}, pool);
}

}  // namespace vig
