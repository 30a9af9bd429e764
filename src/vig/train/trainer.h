// A training run: data in, a folder of results out.
//
//   best.safetensors        the network with the best validation so far, ready for the engine
//   last.safetensors        the network as it is now
//   checkpoint.safetensors  all that is needed to go on exactly where the run stood
//   metrics.csv, curves.svg what was measured
//   run.json                everything the run was told
//   validation.txt          the pictures kept for validation, where the data names none
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vig/train/group.h"
#include "vig/train/options.h"
#include "vig/train/state.h"
#include "vig/train/trained_model.h"

namespace vig::train {

struct RunSummary {
  std::string model;
  int64_t parameters = 0;
  int size = 0;
  size_t classes = 0, train_pictures = 0, val_pictures = 0;
  size_t ignored_files = 0;
  int64_t steps_per_epoch = 0, steps = 0;
  int64_t warmup_steps = 0;  // all of them: the learning rate never falls
  int64_t first_step = 0;    // > 0: the run resumes
  std::string extended;      // the epochs it was planned for before it was given more
  int64_t batch = 0;         // asked for; larger than train_pictures: every step has all of them
  Beginning beginning;
  // The best network is chosen by balanced accuracy, as classes have from `fewest` to `most`
  // validation pictures. `unvalidated` have none.
  bool balanced = false;
  int64_t fewest = 0, most = 0;
  std::vector<std::string> unvalidated;
};

struct StepReport {
  int64_t step = 0, steps = 0;  // done, in all
  double epoch = 0;
  double loss = 0;  // of this step
  double lr = 0;
  double gradient_norm = 0;
  double images_per_second = 0;  // NaN while too little was measured
  double seconds_left = 0;       // likewise; validation and checkpoints counted
};

// Places of a run that a test may want to end it at.
enum class RunPoint { kStep, kValidation, kSaved };

// What the caller wants to hear. All may be empty. Only the first process of a group speaks, but
// for problems, which the one tells that meets them: each once.
struct TrainEvents {
  std::function<void(const RunSummary&)> begin;
  std::function<void(const StepReport&)> step;
  std::function<void(const MetricsRow&, double seconds_left)> row;
  std::function<void(const std::string&)> problem;  // a sentence about a bad file
  std::function<bool()> stop;  // true: write a checkpoint after this step and return
  // After a step and before its checkpoint, before each batch of a validation, after a checkpoint:
  // with the steps done.
  std::function<void(RunPoint, int64_t step)> reached;
};

struct TrainResult {
  bool finished = false;  // else it was stopped
  RunState state;
};

// Trains on `data` (vig/data/dataset.h) into the folder `out`, going on from its checkpoint if it
// has one of the same run. Raises before the first step whatever can be known then: bad options,
// data, an unwritable or full disk, a checkpoint of another run. A loss or gradient that is not
// finite raises, too, and leaves the last checkpoint.
TrainResult train(const TrainOptions& options, const std::string& data, const std::string& out,
                  const TrainEvents& events, Group& group);

}  // namespace vig::train
