// Sets of training options that go together, by name or by what the data is.
#pragma once

#include <cstddef>
#include <string>

#include "vig/train/options.h"

namespace vig::train {

// "imagenet" is the paper's; "small" is for thousands of small pictures. Throws a usage error that
// lists the names for another one.
TrainOptions preset_options(const std::string& preset);

struct DataFacts {
  size_t pictures = 0;  // of the training split, those for validation among them
  int short_side = 0;   // the median of some pictures', in pixels; 0: none could be read
};

// Opens the data and decodes a few pictures of it, always the same ones.
DataFacts measure_data(const std::string& path, const TrainOptions& options);

struct ChosenPreset {
  TrainOptions options;  // their field `preset` has the name
  std::string sentence;  // which, why, and what was set besides
};

// Of the presets the one for such data, with `given` (option to text) over it. What is not given
// follows the data: batch, learning rate and epochs for few pictures and, unless a model is given,
// the input size for small ones.
ChosenPreset choose_preset(const DataFacts& data, const std::map<std::string, std::string>& given);

}  // namespace vig::train
