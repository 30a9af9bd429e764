// Sums the gradients over processes while backward still runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "vig/train/parameters.h"

namespace torch::autograd {
struct Node;
}

namespace vig::train {

// Gradients are cut into stretches of memory, from the last parameter to the first, as backward
// makes them. A stretch is handed over as soon as its gradients are complete and all stretches
// before it have been: so every process hands them over in the same order. Parameters that are
// frozen belong to none.
class GradientBuckets {
 public:
  // Begins to sum a tensor over all processes in place; what it gives waits for the end.
  using Start = std::function<std::function<void()>(const at::Tensor&)>;

  // A stretch has `bucket_floats` or, if a parameter is larger, is that one.
  GradientBuckets(Parameters& parameters, Start start, int64_t bucket_floats = 1 << 20);
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // Before the last backward pass of a step.
  void begin();
  // After it: starts what is left, as gradients that never came are zeros here but may be something
  // elsewhere, and waits for all.
  void finish();

  size_t size() const { return buckets_.size(); }
  size_t started() const { return started_; }

 private:
  struct Bucket {
    at::Tensor gradients;
    size_t parameters = 0;
    size_t missing = 0;  // parameters whose gradient is not there yet
    std::function<void()> wait;
  };
  void gradient_is_there(size_t bucket);
  void start_next();

  const Start start_;
  std::vector<Bucket> buckets_;
  // Where autograd adds to the gradients; they hold our hooks.
  std::vector<std::shared_ptr<torch::autograd::Node>> nodes_;
  size_t started_ = 0;
  bool open_ = false;  // between begin and finish
};

}  // namespace vig::train
