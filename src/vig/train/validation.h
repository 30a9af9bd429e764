// Measuring the network of a run on the validation images.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "vig/data/loader.h"
#include "vig/train/task.h"

namespace vig::train {

class Validator {
 public:
  // Images go through the network `batch` at a time, those of all processes together.
  Validator(const Task& task, int loaders, Workers& workers, Group& group, size_t batch);

  // What the network with these parameters does, in the task's columns. `each` is called with every
  // batch; where it returns false, which must be so on all processes, nothing is measured. Throws
  // when no image can be read.
  std::optional<std::vector<double>> run(const std::vector<at::Tensor>& values,
                                         const std::function<bool(const Batch&)>& each);

 private:
  const Task& task_;
  Workers& workers_;
  Group& group_;
  const size_t batch_;
  Loader loader_;  // one for all validations, so that a bad file is reported once
};

}  // namespace vig::train
