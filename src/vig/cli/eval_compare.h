// `vig eval --compare`: one classifier with two precisions on the same images.
#pragma once

#include "vig/cli/eval_options.h"
#include "vig/data/dataset.h"
#include "vig/pipeline/model_source.h"

namespace vig::cli {

// Prints the accuracy of both, the share of equal labels and the largest change of a probability.
// Gives the exit status.
int compare_precisions(const EvalOptions& options, const ModelSource& source, const Dataset& data);

}  // namespace vig::cli
