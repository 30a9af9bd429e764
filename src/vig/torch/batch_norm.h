// Batch norm in training, on statistics that do not depend on the number of threads.
//
// The images of a step are normalised in groups of consecutive ones, as many as the run says,
// each by its own mean and variance. A thread passes whole groups through the network, so a group's
// values are the same whichever thread has it; the running statistics then move once a step, by
// the mean over the step's groups in the order of the images.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <span>
#include <vector>

#include "vig/graph/graph.h"
#include "vig/torch/parameters.h"

namespace vig::train {

struct BatchNormTensors {
  at::Tensor weight, bias, running_mean, running_var;
};

// By the running statistics.
at::Tensor batch_norm(const at::Tensor& x, const BatchNormTensors& tensors, float eps);

// What the batch norms of a network saw of one thread's images.
class BatchStatistics {
 public:
  static constexpr int64_t kGroup = 16;  // images, unless a run says otherwise

  // Groups have so many images, fewer in the last one of a step.
  explicit BatchStatistics(int64_t group = kGroup) : group_(group) {}
  int64_t group() const { return group_; }

  // [2, channels] a group, in order: mean and unbiased variance.
  using Groups = std::vector<at::Tensor>;
  Groups& of(const Node& norm) { return groups_[norm.params[2]]; }

 private:
  friend std::vector<double> statistic_sums(std::span<const Graph>,
                                            std::span<const BatchStatistics>);

  int64_t group_;
  std::map<int, Groups> groups_;  // by the index of the running mean
};

// By the statistics of the images, group by group, which are added to `groups`.
at::Tensor batch_norm(const at::Tensor& x, const BatchNormTensors& tensors, float eps,
                      BatchStatistics::Groups& groups, int64_t group = BatchStatistics::kGroup);

bool has_batch_norms(std::span<const Graph> graphs);
// Images that must pass through the network together: a group where there are batch norms.
int64_t inseparable_images(std::span<const Graph> graphs, int64_t group = BatchStatistics::kGroup);
// Where run `index` begins of `runs` even ones over `count` images, in whole groups of `group`.
int64_t run_begin(int64_t count, int64_t index, int64_t runs, int64_t group);

// `graphs` are those of one model, whose parameters are one list.
//
// The statistics of a step summed over its groups, and their number behind them: to be summed over
// processes as well. `threads` are in the order of their images.
std::vector<double> statistic_sums(std::span<const Graph> graphs,
                                   std::span<const BatchStatistics> threads);
// Moves the running statistics towards the mean over all groups. Sums that are not finite move
// nothing.
void move_running_statistics(std::span<const Graph> graphs, std::span<const double> sums,
                             Parameters& parameters);

}  // namespace vig::train
