// The parameters of a network in training. All values lie in one tensor and all gradients in
// another, so that clipping, the optimiser, averaging and reducing over processes are loops over
// memory.
#pragma once

#include <ATen/ATen.h>

#include <span>
#include <vector>

#include "vig/graph/param.h"
#include "vig/weights/load.h"

namespace vig::train {

class Parameters {
 public:
  // `weights` are in the order of `specs`.
  Parameters(std::span<const ParamSpec> specs, const Weights& weights, at::Device device);

  // The same values with gradients of their own, for a thread that works on another part of the
  // batch.
  Parameters shard() const;

  size_t size() const { return specs_.size(); }
  const ParamSpec& spec(size_t i) const { return specs_[i]; }
  const std::vector<ParamSpec>& specs() const { return specs_; }
  // Leaves of the autograd graph: views of values(), whose gradients are views of gradients().
  const at::Tensor& operator[](size_t i) const { return views_[i]; }
  const std::vector<at::Tensor>& views() const { return views_; }

  // Where parameter i lies in the flat tensors.
  int64_t begin(size_t i) const { return begins_[i]; }
  int64_t end(size_t i) const { return begins_[i] + specs_[i].shape.elements(); }

  at::Tensor& values() { return values_; }
  const at::Tensor& values() const { return values_; }
  at::Tensor& gradients() { return gradients_; }
  void zero_gradients() { gradients_.zero_(); }

  // Views of another flat tensor of the same layout, such as averaged weights.
  std::vector<at::Tensor> views_of(const at::Tensor& flat) const;

  // Parameters that do not learn get no gradient.
  void freeze(size_t i) { views_[i].set_requires_grad(false); }

 private:
  Parameters() = default;
  void make_leaves();

  std::vector<ParamSpec> specs_;
  std::vector<int64_t> begins_;
  at::Tensor values_, gradients_;
  std::vector<at::Tensor> views_;
};

// The model's own parameters and further shards of them, one a thread.
class Shards {
 public:
  Shards(Parameters& first, int count);
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  size_t size() const { return all_.size(); }
  Parameters& operator[](size_t i) const { return *all_[i]; }
  std::span<Parameters* const> all() const { return all_; }

 private:
  std::vector<Parameters> more_;
  std::vector<Parameters*> all_;
};

}  // namespace vig::train
