// A preview of training images as the network sees them, to check before a long run.
#pragma once

#include <string>

#include "vig/train/task.h"

namespace vig::train {

// An image of the model's input [height, width, 3] in 8 bits again.
Image input_image(const float* input, const TrainedModel& model);

// Writes options.preview images of the first epoch, with their targets drawn where the task draws
// them, as FOLDER/preview/SAMPLE.png. Images that cannot be read are left out.
void write_preview(Task& task, const TrainOptions& options, const std::string& folder);

}  // namespace vig::train
