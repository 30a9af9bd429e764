// Sets of training options that go together, by name or by what the data is.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vig/models/config.h"
#include "vig/train/options.h"

namespace vig::train {

// The paper's are "imagenet", "ade20k" (segmentation) and "coco" (detection). For less data and
// fewer cores are "small" (classification of thousands of small images), "finetune" (a trained
// classifier on few images), "segment" and "detect".
// Throws a usage error that lists the names for another one.
TrainOptions preset_options(const std::string& preset);
const std::vector<std::string>& preset_names();

struct DataFacts {
  size_t images = 0;   // of the training split, those for validation among them
  int short_side = 0;  // the median of some images', in pixels; 0: none could be read
  ModelTask task = ModelTask::kClassify;
};

// Opens the data and decodes a few images of it, always the same ones.
DataFacts measure_data(const std::string& path, const TrainOptions& options);

struct ChosenPreset {
  TrainOptions options;  // their field `preset` has the name
  std::string sentence;  // which, why, and what was set besides
};

// The name of a model that stands for random weights where a trained one would be the default.
inline constexpr const char* kFreshModel = "fresh";

// Of the presets the one for such data, with `given` (option to text) over it. What is not given
// follows the data: batch, learning rate and epochs for few images, the input size of fresh models
// for small ones, and the model itself: few images begin with the model that comes with the program
// for their task where it is installed, unless `fields` of a model are given.
ChosenPreset choose_preset(const DataFacts& data, std::map<std::string, std::string> given,
                           bool fields = false);

}  // namespace vig::train
