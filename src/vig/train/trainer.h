// A training run: data in, a folder of results out.
//
//   best.safetensors        the network with the best validation so far, ready for the engine
//   last.safetensors        the network as it is now
//   checkpoint.safetensors  all that is needed to resume exactly where the run stood
//   metrics.csv, curves.svg what was measured, also as events.out.tfevents.vig for TensorBoard
//   run.json                all options and facts of the run
//   validation.txt          the images kept for validation, where the data names none
//   preview/NUMBER.png      training images as the network sees them, if requested
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "vig/train/options.h"
#include "vig/train/processes/group.h"
#include "vig/train/run_record.h"
#include "vig/train/state.h"

namespace vig::train {

struct StepReport {
  int64_t step = 0, steps = 0;  // done, in all
  double epoch = 0;
  double loss = 0;  // of this step
  double lr = 0;
  double gradient_norm = 0;
  double images_per_second = 0;  // NaN while too little was measured
  double seconds_left = 0;       // likewise; validation and checkpoints counted
};

// What the caller wants to know. All may be empty. Only the first process of a group calls them,
// but for problems, which the process reports that meets them: each once.
struct TrainEvents {
  std::function<void(const RunSummary&)> begin;
  std::function<void(const StepReport&)> step;
  std::function<void(const MetricsRow&, double seconds_left)> row;
  std::function<void(const std::string&)> problem;  // a sentence about a bad file
  // True: write a checkpoint and return. Asked in each step of several processes, after each of
  // one, and before each batch of a validation, which is then done again when the run resumes.
  std::function<bool()> stop;
};

struct TrainResult {
  bool finished = false;       // else it was stopped
  bool stopped_early = false;  // finished, before its last epoch: --patience has ended it
  RunState state;
  std::string best;       // Task::best_sentence of the best network; empty: nothing was measured
  std::string best_note;  // why it is not the one with the highest figure; empty: it is
};

// Trains on `data`, which the task opens, into the folder `out`, resuming from its checkpoint if it
// has one of the same run. Throws before the first step for all errors that can be known then: bad
// options, data, an unwritable or full disk, a checkpoint of another run. A loss or gradient that
// is not finite throws, too, and leaves the last checkpoint.
TrainResult train(const TrainOptions& options, const std::string& data, const std::string& out,
                  const TrainEvents& events, Group& group);

// The same with a task that the caller has made; `data` stands for its data in records.
TrainResult train(std::unique_ptr<Task> task, const TrainOptions& options, const std::string& data,
                  const std::string& out, const TrainEvents& events, Group& group);

}  // namespace vig::train
