// The steps of a run: a batch, the gradient of its loss, and what the optimiser makes of it.
#pragma once

#include <cstdint>
#include <functional>

#include "vig/train/epochs.h"
#include "vig/train/optimizer.h"
#include "vig/train/shard_loop.h"
#include "vig/train/state.h"
#include "vig/train/task.h"

namespace vig::train {

struct StepResult {
  double loss = 0;
  double lr = 0;
  double gradient_norm = 0;
  int64_t images = 0;  // of all processes, those that could not be read among them
  bool stop = false;   // one of the processes asked for it
};

class Steps {
 public:
  // `workers` have a shard each.
  Steps(Task& task, const TrainOptions& options, Workers& workers, Group& group);

  int64_t count() const { return count_; }  // of the whole run
  int64_t per_epoch() const { return epochs_.steps(); }
  int64_t images_dealt() const { return epochs_.deal(0).together; }
  // Passes of a thread over its images of a step.
  int64_t passes() const { return passes_; }
  const Schedule& schedule() const { return schedule_; }
  AdamW& optimizer() { return optimizer_; }

  // Does the step after `state.step`, for which `loaded` gets its batch first; where `stop`, called
  // after the passes, says so on one process, the result of all does. Throws, and leaves the
  // state as it is, when no image can be read, or loss or gradient are not finite.
  StepResult run(RunState& state, const std::function<void(const Batch&)>& loaded,
                 const std::function<bool()>& stop = {});

 private:
  StepSums compute_gradients(Batch& batch, int64_t step, const std::function<bool()>& stop);

  Task& task_;
  const TrainOptions& options_;
  Workers& workers_;
  Group& group_;
  Epochs epochs_;
  Shards shards_;
  AdamW optimizer_;
  const int64_t count_, passes_;
  const Schedule schedule_;
};

}  // namespace vig::train
