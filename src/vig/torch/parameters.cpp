#include "vig/torch/parameters.h"

#include <cstring>

namespace vig::train {
namespace {

constexpr int64_t kAlignment = 16;  // floats: parameters begin at whole cache lines

std::vector<int64_t> sizes_of(const Shape& shape) { return shape.sizes(); }

}  // namespace

Parameters::Parameters(std::span<const ParamSpec> specs, const Weights& weights, at::Device device)
    : specs_(specs.begin(), specs.end()) {
  int64_t total = 0;
  for (const ParamSpec& spec : specs_) {
    begins_.push_back(total);
    total += (spec.shape.elements() + kAlignment - 1) / kAlignment * kAlignment;
  }
  at::Tensor host = at::zeros({total}, at::kFloat);
  for (size_t i = 0; i < specs_.size(); ++i) {
    std::memcpy(host.data_ptr<float>() + begins_[i], weights.data(i),
                static_cast<size_t>(specs_[i].shape.elements()) * sizeof(float));
  }
  values_ = host.to(device);
  make_leaves();
}

void Parameters::make_leaves() {
  gradients_ = at::zeros_like(values_);
  views_ = views_of(values_);
  const std::vector<at::Tensor> gradients = views_of(gradients_);
  for (size_t i = 0; i < views_.size(); ++i) {
    views_[i].set_requires_grad(true);
    views_[i].mutable_grad() = gradients[i];
  }
}

Parameters Parameters::shard() const {
  Parameters other;
  other.specs_ = specs_;
  other.begins_ = begins_;
  other.values_ = values_;
  other.make_leaves();
  for (size_t i = 0; i < views_.size(); ++i) {
    other.views_[i].set_requires_grad(views_[i].requires_grad());
  }
  return other;
}

std::vector<at::Tensor> Parameters::views_of(const at::Tensor& flat) const {
  std::vector<at::Tensor> views;
  for (size_t i = 0; i < specs_.size(); ++i) {
    views.push_back(flat.detach()
                        .narrow(0, begins_[i], specs_[i].shape.elements())
                        .view(sizes_of(specs_[i].shape)));
  }
  return views;
}

Shards::Shards(Parameters& first, int count) {
  for (int i = 1; i < count; ++i) more_.push_back(first.shard());
  all_.push_back(&first);
  for (Parameters& shard : more_) all_.push_back(&shard);
}

}  // namespace vig::train
