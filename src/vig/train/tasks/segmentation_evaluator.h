// Validation of a segmentation network in training.
#pragma once

#include <memory>

#include "vig/train/task.h"

namespace vig::train {

// Of FramedSamples with a LabelMap. Predictions are compared at the size of the image; the loss
// is taken at that of the input.
std::unique_ptr<Evaluator> make_segmentation_evaluator(const TrainedModel& model,
                                                       const TrainOptions& options);

}  // namespace vig::train
