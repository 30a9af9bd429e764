// Mixing the images of a batch and their labels: mixup (Zhang et al., 2018), cutmix (Yun et al.,
// 2019) and label smoothing. Images i and i + N / 2 of a batch are mixed with each other, by one
// lambda for all of them; the last of an odd count stays as it is. Processes get both of a pair
// (Deal::pairs, vig/base/deal.h), so images are mixed alike for any number of processes.
//
// Axes: N images, S rows and columns, C classes.
#pragma once

#include <cstdint>
#include <span>

#include "vig/base/random.h"

namespace vig {

struct MixupOptions {
  float mixup = 0.0f;               // alpha of Beta(alpha, alpha), from which lambda comes; 0: off
  float cutmix = 0.0f;              // the same for cutmix
  float switch_probability = 0.5f;  // of cutmix, where both are on
  float probability = 1.0f;         // of a batch to be mixed at all
  float smoothing = 0.0f;           // share of a label's weight spread evenly over all classes
};

// Throws Error (usage) naming the first number that makes no sense.
void check_mixup_options(const MixupOptions& options);

// What happens to one batch. Both weights of a label come from `lambda`.
struct BatchMixup {
  enum class Kind { kNone, kMixup, kCutmix };
  Kind kind = Kind::kNone;
  double lambda = 1;  // what remains of the image itself; the real share of pixels for cutmix
  int x_begin = 0, x_end = 0, y_begin = 0, y_end = 0;  // cutmix: the part taken from the other
};

BatchMixup draw_mixup(const MixupOptions& options, int size, RandomStream stream);

// images: [N, S, S, 3], changed in place.
void mixup_images(const BatchMixup& mix, int64_t count, int size, float* images);

// Writes targets: [N, C], rows summing to 1. With s the smoothing, a label alone has 1 - s + s / C
// at its class and s / C elsewhere. Throws Error if a label is not in [0, C).
void mixup_targets(const BatchMixup& mix, std::span<const int> labels, int classes, float smoothing,
                   float* targets);

// All of it. labels: [N]; images: [N, S, S, 3]; targets: [N, C].
void mixup_batch(const MixupOptions& options, RandomStream stream, std::span<const int> labels,
                 int size, int classes, float* images, float* targets);

// One draw from the Beta distribution, in [0, 1]; a, b > 0.
double draw_beta(double a, double b, RandomStream& stream);

}  // namespace vig
