// The five losses of a two-stage detector. Each is normalised over all images that are given
// together: the published rule for a batch of that size.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <span>
#include <vector>

#include "vig/data/augment_objects.h"
#include "vig/tasks/box_coder.h"
#include "vig/train/tasks/assignment.h"

namespace vig::train {

struct LossPair {
  at::Tensor classes, boxes;
};

// Objects of an image and the boxes drawn to learn from them.
struct SampledImage {
  const PlacedObjects* truth = nullptr;
  Samples samples;
};

// `logits` [images, anchors] and `deltas` [images, anchors, 4] of the proposals' network. With
// N the sum over images of max(positives, 1) + max(negatives, 1): binary cross-entropy of the
// samples / N, and the absolute error of the deltas of positives, divided by `std`, / N.
LossPair proposal_losses(const at::Tensor& logits, const at::Tensor& deltas,
                         std::span<const Box> anchors, std::span<const SampledImage> images,
                         const BoxDeltas& std);

// The samples of all images in one list: of each image the positives, then the negatives.
struct BoxSamples {
  std::vector<Box> boxes;
  std::vector<int64_t> images;               // the image of each
  std::vector<int64_t> labels;               // `classes` for background
  std::vector<int64_t> positive;             // positions in the list
  std::vector<const PlacedObject*> objects;  // of the positives

  at::Tensor rois() const;           // [boxes, 5]: image, x1, y1, x2, y2
  at::Tensor positive_rois() const;  // the same of the positives
};
// `lists` has the boxes of each image that its samples are positions of.
BoxSamples gather_samples(std::span<const std::vector<Box>> lists,
                          std::span<const SampledImage> images, int classes);

// `logits` [boxes, classes + 1] and `deltas` [boxes, 4 * classes] of the box head: the mean
// cross-entropy, and the absolute error of the true class's deltas of positives / number of boxes.
LossPair box_losses(const at::Tensor& logits, const at::Tensor& deltas, const BoxSamples& samples,
                    const BoxDeltas& std);

// What the mask of a box should be, side x side: the box is clipped to the input of height x width,
// the object's mask averaged in each cell by RoIAlign, and a cell is 1 where that is at least 1/2.
std::vector<float> soft_mask_target(const PlacedMask& mask, const Box& box, int height, int width,
                                    int side);
at::Tensor mask_targets(const BoxSamples& samples, int height, int width, int side);

// `logits` [positives, side, side, classes]: the mean binary cross-entropy of the true class's
// maps. Objects without a mask do not count; 0 where none has one.
at::Tensor mask_loss(const at::Tensor& logits, const at::Tensor& targets,
                     const BoxSamples& samples);

}  // namespace vig::train
