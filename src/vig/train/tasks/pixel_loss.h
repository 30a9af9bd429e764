// The loss of segmentation: a cross-entropy for every pixel.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace vig::train {

struct PixelCounts {
  double right = 0;  // labelled pixels whose label has the largest logit
  double labelled = 0;
};

struct PixelLoss {
  at::Tensor loss;                  // differentiable
  std::vector<PixelCounts> images;  // one for each
};

// Logits [images, h, w, classes] are resized to the labels [images, height, width], of bytes
// with kNoLabel for pixels that do not count (bilinear, half-pixel centres). The sum over labelled
// pixels of -log softmax, divided by the number of ALL pixels. On the CPU row by row, forward and
// backward at once: nothing of the size of labels times classes is ever in memory.
//
// `weights` [classes] of floats multiply the pixels' terms by their labels; undefined: all are 1.
PixelLoss pixel_cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                              const at::Tensor& weights = {});

// The same in LibTorch's own operations, for other devices; without the counts.
at::Tensor plain_pixel_cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                                     const at::Tensor& weights = {});

}  // namespace vig::train
