// Training images as the network sees them, for people to look at before they wait.
#pragma once

#include <string>

#include "vig/train/task.h"

namespace vig::train {

// An image of the model's input [height, width, 3] in 8 bits again.
Image input_image(const float* input, const TrainedModel& model);

// Writes options.look images of the first epoch, with their targets drawn where the task draws
// them, as FOLDER/look/SAMPLE.png. Images that cannot be read are left out.
void write_look(Task& task, const TrainOptions& options, const std::string& folder);

}  // namespace vig::train
