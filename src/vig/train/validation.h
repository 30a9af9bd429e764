// Measuring a network of a run on the validation pictures.
#pragma once

#include <functional>
#include <vector>

#include "vig/data/dataset.h"
#include "vig/data/loader.h"
#include "vig/train/group.h"
#include "vig/train/options.h"
#include "vig/train/state.h"
#include "vig/train/trained_model.h"
#include "vig/train/workers.h"

namespace vig::train {

// What the best network is chosen by: the share of all pictures, where every class has as many, or
// balanced accuracy (the mean of the classes' recalls), where the large ones would hide the small.
enum class BestBy { kTop1, kBalanced };
BestBy choose_best_by(const Dataset& validation);
const char* best_by_text(BestBy best_by);  // "top-1", "balanced accuracy"

// Pictures of each class, by label.
std::vector<int64_t> class_counts(const Dataset& dataset);

// The mean of correct / pictures over the classes that have pictures.
double balanced_accuracy(std::span<const double> pictures, std::span<const double> correct);

struct ValidatorParts {
  const TrainOptions& options;
  const TrainedModel& model;
  Workers& workers;
  Group& group;
};

class Validator {
 public:
  // Pictures go through the network `batch` at a time, those of all processes together.
  Validator(const Dataset& data, const ValidatorParts& parts, size_t batch);

  // Fills the val_ fields of `row` with what the network with these parameters does. `each` is
  // called with every batch; false, which must be so on all processes, ends it, and nothing is
  // filled. Raises when no picture can be read.
  bool run(const std::vector<at::Tensor>& values, MetricsRow& row,
           const std::function<bool(const Batch&)>& each);

 private:
  const ValidatorParts parts_;
  const size_t batch_;
  Loader loader_;  // one for all validations, so that a bad file is reported once
};

// `count` pictures of the network's size that lie at `data`, on the run's device.
at::Tensor picture_tensor(const float* data, int64_t count, const TrainedModel& model,
                          const TrainOptions& options);
size_t picture_floats(const TrainedModel& model);

}  // namespace vig::train
