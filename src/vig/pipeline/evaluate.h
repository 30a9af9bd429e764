// A labelled dataset through a network, counted.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "vig/data/dataset.h"
#include "vig/pipeline/runner.h"
#include "vig/tasks/metrics.h"

namespace vig {

// The output that belongs to each class of a dataset: by name where the model's outputs have names,
// in any order, otherwise by index. A model may know more classes than the data
// show, but data no class that the model lacks; throws with the names that do not fit. `outputs`
// empty: not named.
std::vector<int> match_classes(std::span<const std::string> data_classes, int output_count,
                               std::span<const std::string> outputs);

struct EvaluateOptions {
  // A sample without a result, because its file or the network's outputs are invalid.
  std::function<void(size_t sample, const std::string& sentence)> on_problem = {};
  // A sample that has one: its label among the model's outputs, and a logit for each of them.
  std::function<void(size_t sample, int label, std::span<const float> logits)> on_prediction = {};
  // After each batch, with the number of samples it had; false ends the evaluation early.
  std::function<bool(int64_t samples)> on_batch = {};
};

struct Evaluation {
  ClassificationMetrics metrics;  // over the model's outputs, labels being outputs, too
  int64_t skipped = 0;            // samples without a result, not among the metrics' count
  double seconds = 0;             // decoding included
  bool complete = true;

  double images_per_second() const {
    return seconds > 0 ? static_cast<double>(metrics.count) / seconds : 0;
  }
};

// Samples come in a mixed order. The results do not depend on batch and threads. Throws when the
// classes do not match.
Evaluation evaluate(const Runner& runner, const Dataset& data, const EvaluateOptions& options = {});

}  // namespace vig
