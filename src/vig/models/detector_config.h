// The config of a two-stage detector (Mask R-CNN) that its plain code needs beside its graphs:
// what happens between the network of the image and the heads of boxes and masks.
#pragma once

#include <array>
#include <vector>

namespace vig {

struct DetectorConfig {
  // A level of the pyramid for each stride; the proposals come from all, box features from the
  // first `roi_levels`. Both follow from the pyramid, of which every backbone has the maps of
  // strides 4 to 32: they are no fields of a model.
  std::vector<int> strides = {4, 8, 16, 32, 64};
  int roi_levels = 4;
  // An anchor of side anchor_scale * stride for each ratio height / width, at every cell.
  float anchor_scale = 8.0f;
  std::vector<float> anchor_ratios = {0.5f, 1.0f, 2.0f};
  // Deviations that box deltas are divided by.
  std::array<float, 4> proposal_std = {1.0f, 1.0f, 1.0f, 1.0f};
  std::array<float, 4> box_std = {0.1f, 0.1f, 0.2f, 0.2f};
  int roi_side = 7;    // of a box's features
  int mask_side = 14;  // of a mask's features; its logits have twice the side
  // The side of a box whose features come from the second level is at least this.
  float finest_scale = 56.0f;

  // Inference.
  int proposals_per_level = 1000;  // before suppression
  int proposals = 1000;            // after it, of all levels
  float proposal_overlap = 0.7f;
  float min_score = 0.05f;
  float box_overlap = 0.5f;
  int detections = 100;
  // Training.
  int training_proposals_per_level = 2000;

  bool operator==(const DetectorConfig&) const = default;
};

}  // namespace vig
