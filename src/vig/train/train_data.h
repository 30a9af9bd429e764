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
  size_t ignored = 0;  // files that are no pictures
};

// Opens the training part and the validation part, or splits some off for it. The test part is not
// looked at: it is for reporting at the end. `processes` on this machine share its memory. Raises
// what is wrong with the data, class names that cannot be stored among it.
TrainData open_train_data(const std::string& path, const TrainOptions& options, int processes);

// Raises when the run's folder lies among the pictures, where it would be taken for a class.
void check_apart(const std::string& data, const std::string& out);

}  // namespace vig::train
