// The training batches of a run, epoch by epoch, as one process of a group sees them.
#pragma once

#include <cstdint>
#include <vector>

#include "vig/data/loader.h"
#include "vig/data/order.h"
#include "vig/train/task.h"

namespace vig::train {

// What the images of an epoch are augmented by, each by the fork of its own number.
RandomStream augmentation_stream(const TrainOptions& options, int64_t epoch);

// The samples of an epoch in their order. One that comes several times is augmented anew each time.
std::vector<size_t> epoch_samples(const TaskData& data, const TrainOptions& options, int64_t epoch);

// Images of a batch that stay together where processes share it: those that are normalised
// together, or fewer where there would not be enough groups for all.
int64_t images_dealt(const TrainedModel& model, const TrainOptions& options, int64_t batch,
                     int processes);

class Epochs {
 public:
  // Throws (usage) when the batch has fewer images than there are processes.
  Epochs(Task& task, const TrainOptions& options, Group& group);

  int64_t steps() const { return steps_; }  // of an epoch; the last may have fewer images
  // Images of all processes in a whole step: the batch, or all where there are fewer.
  int64_t batch() const;
  // Images of all processes in step `step` of the run, if all can be read.
  int64_t asked(int64_t step) const;

  // How the processes share step `step`: images_dealt at a time, and in pairs where images are
  // mixed.
  Deal deal(int64_t step) const;

  // What this process has of step `step`. Steps are asked for in order, from any on.
  Batch& next(int64_t step);

 private:
  void begin(int64_t epoch, int64_t step);
  void share_reported();

  const Task& task_;
  const TrainOptions& options_;
  Group& group_;
  const int64_t images_, steps_;
  const Deal deal_;
  Loader loader_;
  int64_t open_ = -1;  // the epoch that the loader is in
};

}  // namespace vig::train
