// Validation of a detector in training.
#pragma once

#include <memory>

#include "vig/data/objects.h"
#include "vig/tasks/results.h"
#include "vig/train/task.h"
#include "vig/train/tasks/validation_image.h"

namespace vig::train {

// Of FramedSamples with Objects: the figures of DetectionFigure.
std::unique_ptr<Evaluator> make_detection_evaluator(const TrainedModel& model,
                                                    const TrainOptions& options);

// What the detector finds in an image, as the engine does.
Detections detect(const TrainedModel& model, const Graph& graph,
                  const std::vector<at::Tensor>& values, const ValidationImage& image,
                  const ForwardOptions& options);

}  // namespace vig::train
