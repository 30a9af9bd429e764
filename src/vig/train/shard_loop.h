// The gradient of one step: its pictures cut into shards, one a thread, each through the network
// and back.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "vig/train/options.h"
#include "vig/train/parameters.h"
#include "vig/train/processes/group.h"
#include "vig/train/trained_model.h"
#include "vig/train/workers.h"

namespace vig::train {

struct ShardLoop {
  Workers& workers;
  Shards& shards;
  Group& group;
  int64_t passes = 1;       // of a thread over its pictures: gradient accumulation
  int64_t inseparable = 1;  // pictures that pass together, see pictures_together
  size_t figures = 0;       // that the loss adds to `sums`
};

// Some pictures of this process, to be passed through the network by one thread.
struct ShardWork {
  size_t shard = 0;
  const std::vector<at::Tensor>& values;  // the shard's parameters
  int64_t first = 0, count = 0;           // pictures
  std::span<double> sums;                 // figures summed over the pictures
};

// The mean loss, differentiable, of the pictures of a pass. Adds what else it measures to the sums.
// Called by several threads at a time.
using ShardLoss = std::function<at::Tensor(const ShardWork& work)>;

// Over all processes.
struct StepSums {
  double loss = 0;  // mean over the pictures
  double pictures = 0;
  std::vector<double> figures;
};

// The gradients of the first shard become those of the mean loss over the pictures of all
// processes. This one has `pictures`; all together have `asked`, or fewer where some could not be
// read.
StepSums run_shards(const ShardLoop& loop, int64_t pictures, int64_t asked, const ShardLoss& loss);

// Pictures that pass through the network together, where there are as many.
int64_t pictures_together(const TrainedModel& model, const TrainOptions& options);

// Passes of a thread over its `pictures` of a step, as --accumulate or memory asks.
int64_t count_passes(const TrainOptions& options, int64_t pictures, const TrainedModel& model);

}  // namespace vig::train
