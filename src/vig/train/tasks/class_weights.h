// Weights of the classes in the loss: --class-weights.
//
// A weight w_c multiplies the share of class c in the target: of an image's label, also where that
// is smoothed or mixed, and of each labelled pixel. The divisor stays what it is without weights:
// the number of images, or of all pixels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vig/data/label_pairs.h"
#include "vig/train/options.h"

namespace vig::train {

// Of classification; empty: none. Balanced: N / (C n_c) for C classes of n_c images each, N in
// all, so that the mean over the training images is 1. Throws a usage error when there are more
// or fewer values than classes.
std::vector<float> image_weights(const TrainOptions& options, std::span<const int64_t> images);

// The same of segmentation. Balanced: balanced_pixel_weights of what the label maps show.
std::vector<float> pixel_weights(const TrainOptions& options, const LabelPairs& data);

// What label maps show of each class.
struct PixelShares {
  std::vector<int64_t> pixels;    // of the class
  std::vector<int64_t> labelled;  // of any class, in the maps that show it
};
// Reads every label map, on `threads`; one that is damaged counts nothing.
PixelShares count_pixels(const LabelPairs& data, int threads);

// Median frequency balancing. With f_c = pixels / labelled, the median of all f_c that are not 0,
// divided by f_c and bounded to [0.1, 10]; 1 for classes that no map shows.
std::vector<float> balanced_pixel_weights(const PixelShares& shares);

}  // namespace vig::train
