// The forward pass of a two-stage detector in training: its graphs and the plain code between them.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <span>
#include <vector>

#include "vig/tasks/proposals.h"
#include "vig/torch/forward.h"
#include "vig/train/tasks/detection_losses.h"
#include "vig/train/trained_model.h"

namespace vig::train {

// Of some images. Gradients flow through all.
struct DetectorMaps {
  std::vector<at::Tensor> levels;  // p2 to p5, [images, height, width, channels]
  at::Tensor logits;               // [images, anchors], all levels one behind the other
  at::Tensor deltas;               // [images, anchors, 4]

  DetectorMaps narrow(int64_t first, int64_t count) const;
};

struct BoxOutputs {
  at::Tensor logits, deltas;  // [boxes, classes + 1], [boxes, 4 * classes]
};

// The five losses, in the order of DetectionTrainFigure.
using DetectionLosses = std::array<at::Tensor, 5>;

class DetectorPass {
 public:
  // `graph` is the one of the image, perhaps at another size than the model's own.
  DetectorPass(const TrainedModel& model, const Graph& graph, const std::vector<at::Tensor>& values,
               const ForwardOptions& options);

  const std::vector<Box>& anchors() const { return anchors_; }
  // Whether an anchor belongs to a cell of an image padded to width x height.
  std::vector<int64_t> anchors_inside(int width, int height) const;

  DetectorMaps maps(const at::Tensor& images) const;
  // Of one image of the maps, inside of width x height; without gradients.
  std::vector<Proposal> proposals(const DetectorMaps& maps, int64_t image, int per_level, int width,
                                  int height) const;
  // `rois` is [boxes, 5], see BoxSamples.
  BoxOutputs boxes(const DetectorMaps& maps, const at::Tensor& rois) const;
  at::Tensor masks(const DetectorMaps& maps, const at::Tensor& rois) const;

  // All losses of the images of the maps, with samples of anchors, and of `lists` of boxes.
  DetectionLosses losses(const DetectorMaps& maps, std::span<const SampledImage> proposals,
                         std::span<const std::vector<Box>> lists,
                         std::span<const SampledImage> boxes) const;

 private:
  struct Level {
    int stride = 0, height = 0, width = 0;
  };
  at::Tensor features(const DetectorMaps& maps, const at::Tensor& rois, int side) const;
  std::vector<at::Tensor> head(const char* input, const at::Tensor& features,
                               const std::vector<const char*>& outputs) const;

  const TrainedModel& model_;
  const Graph& graph_;
  const std::vector<at::Tensor>& values_;
  const ForwardOptions& options_;
  const DetectorConfig& config_;
  std::vector<Level> grids_;
  std::vector<Box> anchors_;
};

}  // namespace vig::train
