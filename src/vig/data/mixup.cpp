#include "vig/data/mixup.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "vig/base/error.h"

namespace vig {
namespace {

// Logarithm of a draw from the Gamma distribution of shape a and scale 1, by Marsaglia and Tsang
// (2000). The logarithm, because for small shapes the draw itself underflows.
double draw_log_gamma(double a, RandomStream& stream) {
  // Their method needs a >= 1; for less, Gamma(a) = Gamma(a + 1) * uniform^(1 / a).
  double log_boost = 0;
  if (a < 1) {
    log_boost = std::log(static_cast<double>(unit_open_below(stream.bits()))) / a;
    a += 1;
  }
  const double d = a - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = stream.normal();
    const double root = 1.0 + c * x;
    const double u = unit_open_below(stream.bits());
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return std::log(d * v) + log_boost;
    }
  }
}

size_t partner(size_t i, size_t count) {
  const size_t half = count / 2;
  return i < half ? i + half : i < 2 * half ? i - half : i;
}

void check(const char* name, float value, float low, float high) {
  if (!(value >= low && value <= high)) {
    fail_usage("mixing: {} is {}, expected {} to {}", name, value, low, high);
  }
}

}  // namespace

double draw_beta(double a, double b, RandomStream& stream) {
  const double x = draw_log_gamma(a, stream);
  const double y = draw_log_gamma(b, stream);
  return 1.0 / (1.0 + std::exp(y - x));
}

void check_mixup_options(const MixupOptions& options) {
  check("mixup", options.mixup, 0, 1000);
  check("cutmix", options.cutmix, 0, 1000);
  check("mix-switch", options.switch_probability, 0, 1);
  check("mix-probability", options.probability, 0, 1);
  check("smoothing", options.smoothing, 0, 1);
}

BatchMixup draw_mixup(const MixupOptions& options, int size, RandomStream stream) {
  check_mixup_options(options);
  BatchMixup mix;
  const bool wanted = stream.chance(options.probability);
  const bool prefer_cutmix = stream.chance(options.switch_probability);
  const bool any = options.mixup > 0 || options.cutmix > 0;
  if (!wanted || !any) return mix;

  const bool cutmix = options.cutmix > 0 && (options.mixup <= 0 || prefer_cutmix);
  const double alpha = cutmix ? options.cutmix : options.mixup;
  mix.lambda = draw_beta(alpha, alpha, stream);
  if (!cutmix) {
    mix.kind = BatchMixup::Kind::kMixup;
    return mix;
  }
  mix.kind = BatchMixup::Kind::kCutmix;
  const int half = static_cast<int>(size * std::sqrt(1.0 - mix.lambda)) / 2;
  const int x = static_cast<int>(stream.below(static_cast<uint64_t>(size)));
  const int y = static_cast<int>(stream.below(static_cast<uint64_t>(size)));
  mix.x_begin = std::max(0, x - half);
  mix.x_end = std::min(size, x + half);
  mix.y_begin = std::max(0, y - half);
  mix.y_end = std::min(size, y + half);
  const double area =
      static_cast<double>(mix.x_end - mix.x_begin) * static_cast<double>(mix.y_end - mix.y_begin);
  mix.lambda = 1.0 - area / (static_cast<double>(size) * size);
  return mix;
}

void mixup_images(const BatchMixup& mix, int64_t count, int size, float* images) {
  const size_t row = static_cast<size_t>(size) * 3;
  const size_t image = static_cast<size_t>(size) * row;
  const float own = static_cast<float>(mix.lambda);
  const float other = static_cast<float>(1.0 - mix.lambda);
  for (int64_t i = 0; i < count / 2; ++i) {  // both of a pair at once
    float* a = images + static_cast<size_t>(i) * image;
    float* b = images + static_cast<size_t>(i + count / 2) * image;
    if (mix.kind == BatchMixup::Kind::kMixup) {
      for (size_t k = 0; k < image; ++k) {
        const float old = a[k];
        a[k] = own * old + other * b[k];
        b[k] = own * b[k] + other * old;
      }
    } else if (mix.kind == BatchMixup::Kind::kCutmix) {
      for (int y = mix.y_begin; y < mix.y_end; ++y) {
        const size_t begin = static_cast<size_t>(y) * row + static_cast<size_t>(mix.x_begin) * 3;
        const size_t end = static_cast<size_t>(y) * row + static_cast<size_t>(mix.x_end) * 3;
        std::swap_ranges(a + begin, a + end, b + begin);
      }
    }
  }
}

void mixup_targets(const BatchMixup& mix, std::span<const int> labels, int classes, float smoothing,
                   float* targets) {
  for (const int label : labels) {
    if (label < 0 || label >= classes) {
      fail("a label of a batch is {}, expected 0 to {}", label, classes - 1);
    }
  }
  const double certain = 1.0 - static_cast<double>(smoothing);
  const double spread = static_cast<double>(smoothing) / classes;
  for (size_t i = 0; i < labels.size(); ++i) {
    float* row = targets + i * static_cast<size_t>(classes);
    const int own = labels[i], other = labels[partner(i, labels.size())];
    const double lambda = own == other ? 1.0 : mix.lambda;
    std::fill_n(row, classes, static_cast<float>(spread));
    if (lambda < 1.0) row[other] = static_cast<float>(spread + (1.0 - lambda) * certain);
    row[own] = static_cast<float>(spread + lambda * certain);
  }
}

void mixup_batch(const MixupOptions& options, RandomStream stream, std::span<const int> labels,
                 int size, int classes, float* images, float* targets) {
  const BatchMixup mix = draw_mixup(options, size, stream);
  mixup_targets(mix, labels, classes, options.smoothing, targets);
  mixup_images(mix, static_cast<int64_t>(labels.size()), size, images);
}

}  // namespace vig
