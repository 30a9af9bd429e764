// Segmentation: an image's target is a LabelMap.
//
// Training sees squares of recipe.crop cut out of resized images; validation sees each image
// whole, or in sliding windows where the recipe has some, as `vig eval` does.
#pragma once

#include <memory>
#include <string>

#include "vig/train/task.h"

namespace vig::train {

// Columns::train and Columns::val of the task.
enum SegmentationTrainFigure { kTrainPixels };
enum SegmentationFigure { kPixelLoss, kMeanIou, kPixelAccuracy };

inline constexpr double kAuxiliaryWeight = 0.4;  // of the auxiliary head's loss

std::unique_ptr<Task> open_segmentation(const TrainOptions& options, const std::string& data,
                                        int processes);

// What the two heads make of the images [count, height, width, 3], each [count, h, w, classes].
struct HeadLogits {
  at::Tensor main, auxiliary;  // undefined where the model has no auxiliary head
};
HeadLogits segmentation_logits(const TrainedModel& model, const std::vector<at::Tensor>& values,
                               const at::Tensor& images, const ForwardOptions& options);

}  // namespace vig::train
