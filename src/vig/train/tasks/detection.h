// Detection: an image's target is its Objects.
//
// All images of a run are padded to one canvas: the largest sides, over the training images, of
// an image resized by the recipe, as multiples of recipe.multiple. Images of one shape waste
// nothing; wide and tall ones together share a square. Losses are normalised over groups of
// loss_group(options) images, the published rule for a device with so many, and groups count by
// their images. Validation frames each image by the recipe, as `vig eval` does.
#pragma once

#include <memory>
#include <string>

#include "vig/train/task.h"
#include "vig/train/tasks/detection_losses.h"

namespace vig::train {

// Columns::train and Columns::val of the task.
enum DetectionTrainFigure { kProposalClass, kProposalBox, kBoxClass, kBoxBox, kMaskLoss };
enum DetectionFigure { kBoxAp, kBoxAp50, kMaskAp, kMaskAp50 };

std::unique_ptr<Task> open_detection(const TrainOptions& options, const std::string& data,
                                     int processes);

}  // namespace vig::train
