// Detection: a picture's target is its Objects.
//
// All pictures of a run are padded to one canvas: the largest sides, over the training pictures, of
// a picture resized by the recipe, as multiples of recipe.multiple. Pictures of one shape waste
// nothing; wide and tall ones together share a square. Losses are normalised over groups of
// options.norm_group pictures, the published rule for a device with so many, and groups count by
// their pictures. Validation frames each picture by the recipe, as `vig eval` does.
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
