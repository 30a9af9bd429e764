// What a run learns. The loop of training (trainer.h) knows images, steps, checkpoints, processes
// and records; a task knows what the target of an image is, what the loss is, what is measured and
// what is better.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vig/base/random.h"
#include "vig/data/loader.h"
#include "vig/data/target.h"
#include "vig/torch/forward.h"
#include "vig/train/metrics.h"
#include "vig/train/options.h"
#include "vig/train/processes/group.h"
#include "vig/train/trained_model.h"
#include "vig/train/workers.h"

namespace vig::train {

// The samples of a run.
struct TaskData {
  std::shared_ptr<const SampleSource> train;
  std::shared_ptr<const SampleSource> val;  // null: there is nothing to validate on
  // Short texts that are different where, almost surely, names or targets of samples are.
  std::string train_mark, val_mark;
  std::string
      held_out;        // names of the validation samples, a line each, if taken from the training
                       // split; empty: the data has a validation split of its own, or there is none
  size_t ignored = 0;  // files that are no images
  // Training samples in groups that every epoch draws from equally often; empty: every sample comes
  // once an epoch.
  std::vector<std::vector<size_t>> groups;
  // Training samples by the shard that holds them; empty: the data is not in shards.
  std::vector<std::vector<size_t>> shards;
  // The least factor by which training resizes whole images; 0: they are cropped.
  double smallest_scale = 0;
};

// With fewer validation images the best figure is mostly chance.
constexpr size_t kFewValidation = 200;

// What a task says at the start of a run.
struct TaskSummary {
  std::string subject;  // "10 classes"
  std::vector<std::string> notes, warnings;
  Columns columns;
};

// What one process has of a step, ready for the network.
struct StepBatch {
  at::Tensor images;  // [N, height, width, 3], on the CPU; may lie in the loader's memory
  std::vector<at::Tensor> targets;
};

// One forward pass of a shard.
struct ShardPass {
  const std::vector<at::Tensor>& values;  // the parameters, in their order
  at::Tensor images;  // [count, height, width, 3], on the device of the run: part of a StepBatch
  const std::vector<at::Tensor>& targets;  // of the whole StepBatch
  int64_t first = 0;                       // of these images, in the StepBatch
  const ForwardOptions& options;
  const std::vector<Sample>& items;  // of the whole StepBatch: Batch::items
};

// Measures a network on validation images, batch by batch.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // The network with the parameters `values` on a batch of at least one image.
  virtual void add(const Batch& batch, const std::vector<at::Tensor>& values, Workers& workers) = 0;
  // The values of Columns::val over the batches of all processes. Every process calls it.
  virtual std::vector<double> figures(Group& group) = 0;
};

class Task {
 public:
  virtual ~Task() = default;

  virtual const TaskData& data() const = 0;
  // The network, with the labels that its file will carry.
  virtual TrainedModel& model() = 0;
  virtual TaskSummary summary() const = 0;
  // Does not change during a run.
  virtual const Columns& columns() const = 0;

  // An image as it lies in a batch. Writing may change the target along with the image, and is
  // called by several threads at a time.
  virtual size_t image_floats() const = 0;
  virtual void write_training(const Image& image, Target& target, const RandomStream& stream,
                              float* out) const = 0;
  virtual void write_validation(const Image& image, Target& target, float* out) const = 0;

  // The image of write_training with its target drawn; empty where there is nothing to draw.
  virtual Image drawn(const float*, const Target&) const { return {}; }

  // What happens to a batch as a whole, and its targets as tensors.
  virtual StepBatch prepare(Batch& batch, const RandomStream& stream) const = 0;
  // The mean loss of the images, differentiable. Adds to `sums` the values of Columns::train,
  // summed over the images. Called by several threads at a time.
  virtual at::Tensor loss(const ShardPass& pass, std::span<double> sums) const = 0;

  virtual std::unique_ptr<Evaluator> new_evaluator() const = 0;
  // What the best network is chosen by, for the record: "top-1".
  virtual std::string best_by() const = 0;
  virtual size_t best_column() const = 0;  // of Columns::val: the number that is shown as the best
  // Is a network with the figures `a` to be preferred to one with `b`?
  virtual bool better(std::span<const double> a, std::span<const double> b) const = 0;
  // The standard error of figures[best_column()], see best_network.h. 0: it is not known.
  virtual double best_error(std::span<const double>) const { return 0; }
  // Figures in words: "93.21 % balanced", and as part of a sentence.
  virtual std::string best_label(std::span<const double> figures) const = 0;
  virtual std::string best_sentence(std::span<const double> figures) const = 0;
  // Why the training loss lies above the validation loss, where it does; empty: there is no reason.
  virtual std::string loss_note() const = 0;
};

// The one that the options name, or that the data is for.
ModelTask task_of(const TrainOptions& options, const std::string& data);

// The task of these options. Opens the data and makes the network; `processes` on this machine
// share its memory. Throws what is wrong with either.
std::unique_ptr<Task> open_task(const TrainOptions& options, const std::string& data,
                                int processes);

}  // namespace vig::train
