// Sums the gradients over processes while backward still runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "vig/torch/parameters.h"

namespace torch::autograd {
struct Node;
}

namespace vig::train {

// Gradients are cut into stretches of memory, from the last parameter to the first, as backward
// makes them. A stretch is handed over as soon as its gradients are complete in every shard and all
// stretches before it have been: so every process hands them over in the same order. Its gradients
// are first summed over the shards, in their order, into those of the first. Parameters that are
// frozen belong to no stretch.
class GradientBuckets {
 public:
  // Begins to sum a tensor over all processes in place; what it gives waits for the end.
  using Start = std::function<std::function<void()>(const at::Tensor&)>;

  // A stretch has `bucket_floats` or, if a parameter is larger, is that one.
  GradientBuckets(std::span<Parameters* const> shards, Start start,
                  int64_t bucket_floats = 1 << 20);
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // Before the backward passes of a step: how many there will be, of all shards together. The
  // gradients of a shard that has none must be zeros now; those of the others may still become so
  // before its first.
  void begin(int64_t passes);
  // After them: starts what is left, as gradients that never came are zeros here but may be
  // something elsewhere, sums `further` along with the last of them, and waits for all.
  void finish(const at::Tensor& further = {});

  size_t size() const { return buckets_.size(); }
  size_t started() const { return started_; }

 private:
  struct Bucket {
    std::vector<at::Tensor> gradients;  // by shard
    int64_t parameters = 0;
    int64_t missing = 0;  // gradients that passes have yet to add
    std::function<void()> wait;
  };
  void gradient_is_there(size_t bucket);
  void start_next();

  const Start start_;
  std::vector<Bucket> buckets_;
  // Where autograd adds to the gradients; they hold our hooks.
  std::vector<std::shared_ptr<torch::autograd::Node>> nodes_;
  std::mutex mutex_;  // shards run on threads of their own
  size_t started_ = 0;
  bool open_ = false;  // between begin and finish
};

}  // namespace vig::train
