// The gradient of one step: the batch cut into shards, one a thread, through the network and back.
#pragma once

#include "vig/base/random.h"
#include "vig/data/loader.h"
#include "vig/train/group.h"
#include "vig/train/options.h"
#include "vig/train/parameters.h"
#include "vig/train/trained_model.h"
#include "vig/train/workers.h"

namespace vig::train {

struct GradientPass {
  const TrainOptions& options;
  const TrainedModel& model;
  Workers& workers;
  Shards& shards;
  Group& group;
  int64_t parts = 1;  // passes of a thread over its pictures, see count_parts
  int64_t asked = 1;  // pictures of this step over all processes, if all can be read
};

// Over all processes. The loss is the mean over the pictures that could be read.
struct GradientSums {
  double loss = 0, hits = 0, pictures = 0;
};

// The first shard's gradients become those of the mean loss over the step's pictures on all
// processes, those left out that could not be read. targets: [pictures of `batch`, classes].
GradientSums compute_gradients(const GradientPass& pass, const Batch& batch,
                               const at::Tensor& targets, const RandomStream& stream);

// Passes of a thread over its `pictures` of a step, as --parts or memory asks.
int64_t count_parts(const TrainOptions& options, int pictures, int size);

}  // namespace vig::train
