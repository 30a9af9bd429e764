// What a run was told, and by what one run is told from another.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "vig/models/registry.h"
#include "vig/train/options.h"
#include "vig/train/train_data.h"
#include "vig/train/validation.h"

namespace vig::train {

using Texts = std::map<std::string, std::string>;

struct RunFacts {
  const TrainOptions& options;
  const ModelSpec& spec;
  const TrainData& data;
  std::string data_path;
  int processes = 1;
  int64_t steps_per_epoch = 0;
  BestBy best_by = BestBy::kTop1;
};

// All that changes the result, as texts: not where the data lies, how far apart checkpoints are and
// who loads pictures.
Texts run_identity(const RunFacts& facts);

// run.json: everything the run was told, numbers as numbers.
std::string run_json(const RunFacts& facts, const Texts& identity);

// Steps of so many epochs.
int64_t total_steps(double epochs, int64_t steps_per_epoch);

// The identity under which a run goes on from the checkpoint of `stored`, which has done `step`
// steps: `asked`, and what `stored` knows of the run's past. More epochs than before extend a run
// that is finished. Raises a usage error, saying in what they differ, when it is another run;
// `path` is its folder.
Texts continued_identity(const std::string& path, Texts stored, Texts asked, int64_t step);

// The options of a run by its identity; fields of the model among them.
TrainOptions stored_options(const Texts& identity);

}  // namespace vig::train
