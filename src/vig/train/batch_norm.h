// Batch norm in training, on statistics that do not depend on the number of threads.
//
// The pictures of a step are normalised in groups of kGroup consecutive ones, each by its own mean
// and variance. A thread passes whole groups through the network, so a group's numbers are the same
// whichever thread has it; the running statistics then move once a step, by the mean over the
// step's groups in the order of the pictures.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <span>
#include <vector>

#include "vig/graph/graph.h"
#include "vig/train/parameters.h"

namespace vig::train {

struct BatchNormTensors {
  at::Tensor weight, bias, running_mean, running_var;
};

// By the running statistics.
at::Tensor batch_norm(const at::Tensor& x, const BatchNormTensors& tensors, float eps);

// What the batch norms of a network saw of one thread's pictures.
class BatchStatistics {
 public:
  static constexpr int64_t kGroup = 16;  // pictures, fewer in the last group of a step

  // [2, channels] a group, in order: mean and unbiased variance.
  using Groups = std::vector<at::Tensor>;
  Groups& of(const Node& norm) { return groups_[norm.params[2]]; }

 private:
  friend void move_running_statistics(const Graph&, std::span<const BatchStatistics>, Parameters&);

  std::map<int, Groups> groups_;  // by the index of the running mean
};

// By the statistics of the pictures, group by group, which are added to `groups`.
at::Tensor batch_norm(const at::Tensor& x, const BatchNormTensors& tensors, float eps,
                      BatchStatistics::Groups& groups);

bool has_batch_norm(const Graph& graph);

// Moves the running statistics towards the mean over all groups of a step; `threads` in the order
// of their pictures.
void move_running_statistics(const Graph& graph, std::span<const BatchStatistics> threads,
                             Parameters& parameters);

}  // namespace vig::train
