// The gradient of one step: its images cut into shards, one a thread, each through the network
// and back.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "vig/torch/parameters.h"
#include "vig/train/options.h"
#include "vig/train/processes/group.h"
#include "vig/train/trained_model.h"
#include "vig/train/workers.h"

namespace vig::train {

struct ShardLoop {
  Workers& workers;
  Shards& shards;
  Group& group;
  int64_t passes = 1;               // of a thread over its images: gradient accumulation
  int64_t inseparable = 1;          // images that pass together, see images_together
  size_t figures = 0;               // that the loss adds to `sums`
  std::function<bool()> stop = {};  // called after the passes: does this process ask to stop?
};

// Some images of this process, to be passed through the network by one thread.
struct ShardWork {
  size_t shard = 0;
  const std::vector<at::Tensor>& values;  // the shard's parameters
  int64_t first = 0, count = 0;           // images
  std::span<double> sums;                 // figures summed over the images
};

// The mean loss, differentiable, of the images of a pass. Adds what else it measures to the sums.
// Called by several threads at a time.
using ShardLoss = std::function<at::Tensor(const ShardWork& work)>;

// Over all processes.
struct StepSums {
  double loss = 0;  // mean over the images
  double images = 0;
  std::vector<double> figures;
  bool stop = false;  // one of them asks for it
};

// The gradients of the first shard become those of the mean loss over the images of all
// processes. This one has `images`; all together have `asked`, or fewer where some could not be
// read.
StepSums run_shards(const ShardLoop& loop, int64_t images, int64_t asked, const ShardLoss& loss);

// Images that pass through the network together, where there are as many.
int64_t images_together(const TrainedModel& model, const TrainOptions& options);

// Passes of a thread over its `images` of a step, as --accumulate or memory asks.
int64_t count_passes(const TrainOptions& options, int64_t images, const TrainedModel& model);

}  // namespace vig::train
