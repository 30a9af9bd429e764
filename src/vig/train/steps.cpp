#include "vig/train/steps.h"

#include <cmath>

#include "vig/base/error.h"
#include "vig/base/random.h"
#include "vig/torch/batch_norm.h"
#include "vig/train/run_record.h"

namespace vig::train {
namespace {

// Rates that follow the batch follow the images that there are.
Schedule make_schedule(TrainOptions options, const Epochs& epochs, int64_t steps) {
  options.batch = static_cast<int>(epochs.batch());
  return Schedule(options, epochs.steps(), steps);
}

// Images of a process, or a few more.
int64_t share_of(int64_t batch, const Group& group) {
  return (batch + group.size() - 1) / group.size();
}

void check_finite(const char* what, double value, int64_t step) {
  if (std::isfinite(value)) return;
  fail("the {} of step {} is {}; the last good checkpoint stays (a lower --lr may help)", what,
       step, value);
}

}  // namespace

Steps::Steps(Task& task, const TrainOptions& options, Workers& workers, Group& group)
    : task_(task),
      options_(options),
      workers_(workers),
      group_(group),
      epochs_(task, options, group),
      shards_(task.model().parameters, workers.size()),
      optimizer_(options, task.model().parameters, workers),
      count_(run_steps(options, epochs_.steps())),
      passes_(count_passes(options,
                           (share_of(epochs_.batch(), group) + workers.size() - 1) / workers.size(),
                           task.model())),
      schedule_(make_schedule(options, epochs_, count_)) {}

StepSums Steps::compute_gradients(Batch& batch, int64_t step, const std::function<bool()>& stop) {
  const RandomStream stream =
      RandomStream(options_.seed).fork("step").fork(static_cast<uint64_t>(step));
  const StepBatch ready = task_.prepare(batch, stream);
  const at::Device device(options_.device);
  const std::vector<Graph>& graphs = task_.model().graphs;
  const Deal deal = epochs_.deal(step);
  const int64_t inseparable = images_together(task_.model(), options_);
  // A backbone that does not learn keeps its statistics, too.
  const bool moves = has_batch_norms(graphs) && !options_.probe;
  std::vector<BatchStatistics> statistics(moves ? shards_.size() : 0,
                                          BatchStatistics(options_.norm_group));
  const auto loss = [&](const ShardWork& pass) {
    ForwardOptions options;
    options.kernels = options_.kernels;
    options.drop_branches = task_.model().drops;
    options.seed = stream.bits_at(0);
    options.first_image = pass.first;
    options.deal = deal;
    if (moves) options.statistics = &statistics[pass.shard];
    const at::Tensor images = ready.images.narrow(0, pass.first, pass.count).to(device);
    return task_.loss({pass.values, images, ready.targets, pass.first, options, batch.items},
                      pass.sums);
  };
  const StepSums sums = run_shards(
      {workers_, shards_, group_, passes_, inseparable, task_.columns().train.size(), stop},
      static_cast<int64_t>(batch.samples.size()), epochs_.asked(step), loss);
  if (moves) {
    std::vector<double> groups = statistic_sums(graphs, statistics);
    group_.sum(groups);
    move_running_statistics(graphs, groups, shards_[0]);
  }
  return sums;
}

StepResult Steps::run(RunState& state, const std::function<void(const Batch&)>& loaded,
                      const std::function<bool()>& stop) {
  Batch& batch = epochs_.next(state.step);
  loaded(batch);
  const StepSums sums = compute_gradients(batch, state.step, stop);
  if (sums.images == 0) {
    fail("none of the images of step {} can be read; the last good checkpoint stays",
         state.step + 1);
  }
  check_finite("loss", sums.loss, state.step + 1);
  StepResult result;
  result.stop = sums.stop;
  result.loss = sums.loss;
  result.lr = schedule_.lr(state.step);
  result.gradient_norm = optimizer_.step(result.lr);
  check_finite("gradient", result.gradient_norm, state.step + 1);
  result.images = epochs_.asked(state.step);

  // Every image counts the same in the mean of an epoch.
  const double weight = static_cast<double>(result.images) / static_cast<double>(epochs_.batch());
  state.loss_steps += weight;
  state.loss_sum += weight * sums.loss;
  state.seen += std::llround(sums.images);
  for (size_t i = 0; i < sums.figures.size(); ++i) state.sums[i] += sums.figures[i];
  ++state.step;
  return result;
}

}  // namespace vig::train
