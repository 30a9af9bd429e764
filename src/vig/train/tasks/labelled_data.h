// The labelled images of a training run.
#pragma once

#include <optional>
#include <string>

#include "vig/data/dataset.h"
#include "vig/train/options.h"

namespace vig::train {

struct LabelledData {
  Dataset train;
  std::optional<Dataset> val;
  bool held_out = false;  // val was taken from the training split, not a split of its own
  size_t ignored = 0;     // files that are no images
  DataReport report;      // rows of a list that are left out
};

// Opens the training and the validation split, or holds out some training images for validation:
// at least one of every class that has two, and none at all where no class has. The test split is
// not opened: it is for reporting at the end. `processes` on this machine share its memory. Throws
// what is wrong with the data, class names that cannot be stored among it.
LabelledData open_labelled_data(const std::string& path, const TrainOptions& options,
                                int processes);

// The training split alone, or the whole where there are no splits.
Dataset open_training_split(const std::string& path, const TrainOptions& options);

// A short text that is different where, almost surely, names or labels of samples are.
std::string listing_mark(const Dataset& dataset);

}  // namespace vig::train
