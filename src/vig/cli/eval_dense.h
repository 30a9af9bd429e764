// `vig eval` of segmentation networks and detectors.
#pragma once

#include <optional>

#include "vig/cli/eval_options.h"
#include "vig/cli/eval_run.h"
#include "vig/pipeline/model_source.h"

namespace vig::cli {

// Complains of the first problems, and says how many more there are.
void report_problems(const DataReport& report);

// `run`: the training run whose validation images are meant, unless options.split is given.
// Gives the exit status.
int eval_segmentation(const EvalOptions& options, const ModelSource& source,
                      const std::optional<TrainedRun>& run);
int eval_detection(const EvalOptions& options, const ModelSource& source,
                   const std::optional<TrainedRun>& run);

}  // namespace vig::cli
