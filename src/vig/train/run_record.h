// The record of a run, and what makes two runs the same run.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "vig/models/family.h"
#include "vig/train/options.h"
#include "vig/train/task.h"

namespace vig::train {

using Texts = std::map<std::string, std::string>;

struct RunFacts {
  const TrainOptions& options;
  const ModelSpec& spec;
  const TaskData& data;
  std::string data_path;
  int processes = 1;
  int64_t steps_per_epoch = 0;
  std::string best_by;  // Task::best_by
  // Images that stay together where processes share a batch, if these are fewer than are normalised
  // together: with other processes they would be others. 0: they are not.
  int64_t images_dealt = 0;
};

// What the loop says at the start of a run, and what the task adds.
struct RunSummary {
  std::string model;
  int64_t parameters = 0;
  int height = 0, width = 0;  // of the input
  size_t train_images = 0, val_images = 0;
  size_t ignored_files = 0;
  int64_t steps_per_epoch = 0, steps = 0;
  int64_t warmup_steps = 0;    // all of them: the learning rate never falls
  int64_t first_step = 0;      // > 0: the run resumes
  bool stopped_early = false;  // and has nothing left to do: --patience has ended it
  std::string extended;        // the epochs it was planned for before it was given more
  int64_t batch = 0;           // asked for; larger than train_images: every step has all of them
  Beginning beginning;
  TaskSummary task;
};

// What is known before the first step; steps, warmup_steps and first_step are left out.
RunSummary summarise(const RunFacts& facts, Task& task, const Texts& identity);

// All that changes the result, as texts: not where the data lies, how far apart checkpoints are and
// who loads images.
Texts run_identity(const RunFacts& facts);

// run.json: all options and facts of the run, numbers as numbers. `stopped_early` is the last row
// of a run that --patience has ended; null: none has.
std::string run_json(const RunFacts& facts, const Texts& identity,
                     const MetricsRow* stopped_early = nullptr);

// Steps of so many epochs.
int64_t total_steps(double epochs, int64_t steps_per_epoch);
// options.steps, or those of options.epochs.
int64_t run_steps(const TrainOptions& options, int64_t steps_per_epoch);

// The step from which on the run has the epochs of today: 0, or where it ended before it was
// extended.
int64_t plan_begin(const Texts& identity);

// The identity under which a run resumes from the checkpoint of `stored`, which has done `step`
// steps: `asked`, and what `stored` knows of the run's past. More epochs than before extend a run
// that is finished; more patience than before is no other run, nor are more or fewer processes,
// with other threads, which it notes. Throws a usage error, saying in what they differ, when it is
// another run; `path` is its folder.
Texts continued_identity(const std::string& path, Texts stored, Texts asked, int64_t step);

// The options with the size of the input that the run really has, where they leave it to the model.
TrainOptions with_real_size(TrainOptions options, const Recipe& recipe);

// The options of a run by its identity; fields of the model and preprocessing among them.
TrainOptions stored_options(Texts identity);

}  // namespace vig::train
