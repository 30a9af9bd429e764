#include "vig/train/processes/gradient_buckets.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

namespace vig::train {
namespace {

// Runs after autograd has added to a parameter's gradient.
class AfterGradient : public torch::autograd::FunctionPostHook {
 public:
  explicit AfterGradient(std::function<void()> action) : action_(std::move(action)) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    action_();
    return outputs;
  }

 private:
  std::function<void()> action_;
};

}  // namespace

GradientBuckets::GradientBuckets(std::span<Parameters* const> shards, Start start,
                                 int64_t bucket_floats)
    : start_(std::move(start)) {
  const Parameters& parameters = *shards[0];
  int64_t end = 0;
  for (size_t i = parameters.size(); i-- > 0;) {
    if (!parameters[i].requires_grad()) continue;
    // Between neighbours lies padding alone, which may be summed with them.
    const bool neighbour = i + 1 < parameters.size() && parameters[i + 1].requires_grad();
    if (!neighbour || end - parameters.begin(i) > bucket_floats) {
      buckets_.emplace_back();
      end = parameters.end(i);
    }
    Bucket& bucket = buckets_.back();
    bucket.gradients.clear();
    ++bucket.parameters;
    for (Parameters* shard : shards) {
      bucket.gradients.push_back(
          shard->gradients().narrow(0, parameters.begin(i), end - parameters.begin(i)));
      nodes_.push_back(torch::autograd::impl::grad_accumulator((*shard)[i]));
      nodes_.back()->add_post_hook(std::make_unique<AfterGradient>(
          [this, index = buckets_.size() - 1] { gradient_is_there(index); }));
    }
  }
}

void GradientBuckets::begin(int64_t passes) {
  const std::lock_guard lock(mutex_);
  for (Bucket& bucket : buckets_) bucket.missing = bucket.parameters * passes;
  started_ = 0;
  open_ = passes > 0;
}

void GradientBuckets::gradient_is_there(size_t bucket) {
  const std::lock_guard lock(mutex_);
  if (!open_) return;
  --buckets_[bucket].missing;
  while (started_ < buckets_.size() && buckets_[started_].missing == 0) start_next();
}

void GradientBuckets::start_next() {
  Bucket& bucket = buckets_[started_++];
  for (size_t shard = 1; shard < bucket.gradients.size(); ++shard) {
    bucket.gradients[0].add_(bucket.gradients[shard]);
  }
  bucket.wait = start_(bucket.gradients[0]);
}

void GradientBuckets::finish(const at::Tensor& further) {
  const std::lock_guard lock(mutex_);
  open_ = false;
  while (started_ < buckets_.size()) start_next();
  std::function<void()> wait;
  if (further.defined()) wait = start_(further);
  for (Bucket& bucket : buckets_) std::exchange(bucket.wait, nullptr)();
  if (wait) wait();
}

}  // namespace vig::train
