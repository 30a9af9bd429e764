// The pictures of a training run.
#pragma once

#include <optional>
#include <string>

#include "vig/data/dataset.h"
#include "vig/train/options.h"

namespace vig::train {

struct TrainData {
  Dataset train;
  std::optional<Dataset> val;
  bool val_split = false;  // val was split off train, not a part of its own
  size_t ignored = 0;      // files that are no pictures
};

// Opens the training part and the validation part, or splits some off for it: one picture at least
// of every class that has two, and none at all where no class has. The test part is not looked at:
// it is for reporting at the end. `processes` on this machine share its memory. Raises what is
// wrong with the data, class names that cannot be stored among it.
TrainData open_train_data(const std::string& path, const TrainOptions& options, int processes);

// The training part alone, or the whole where there are no parts.
Dataset open_training_part(const std::string& path, const TrainOptions& options);

// Raises when the run's folder lies among the pictures, where it would be taken for a class.
void check_apart(const std::string& data, const std::string& out);

}  // namespace vig::train
