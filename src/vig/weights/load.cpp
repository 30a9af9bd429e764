#include "vig/weights/load.h"

#include <algorithm>
#include <unordered_set>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/weights/elements.h"

namespace vig {

// Fills in Weights.
class WeightsMaker {
 public:
  explicit WeightsMaker(std::span<const ParamSpec> specs) : weights_(new Weights) {
    weights_->specs_.assign(specs.begin(), specs.end());
    weights_->stored_.resize(specs.size());
    weights_->scales_.resize(specs.size());
    weights_->data_.resize(specs.size());
    for (size_t i = 0; i < specs.size(); ++i) weights_->index_.emplace(weights_->spec(i).name, i);
  }

  void use(size_t index, const TensorView& view, const float* scales) {
    weights_->stored_[index] = view;
    weights_->scales_[index] = scales;
  }
  std::shared_ptr<const Weights> finish(std::shared_ptr<const Checkpoint> checkpoint) {
    weights_->checkpoint_ = std::move(checkpoint);
    return weights_;
  }

  // One allocation for all; `fill(index, out)` is called for every array.
  template <typename Fill>
  std::shared_ptr<const Weights> fill_all(Fill fill) {
    constexpr size_t kLine = 64;
    std::vector<size_t> begins;
    size_t bytes = 0;
    for (const ParamSpec& spec : weights_->specs_) {
      begins.push_back(bytes);
      const size_t size = static_cast<size_t>(spec.shape.elements()) * sizeof(float);
      bytes += (size + kLine - 1) / kLine * kLine;
    }
    weights_->owned_ = Buffer(bytes);
    for (size_t i = 0; i < begins.size(); ++i) {
      float* out = weights_->owned_.floats() + begins[i] / sizeof(float);
      fill(i, out);
      weights_->data_[i] = out;
      weights_->stored_[i] = {nullptr, DType::kF32, weights_->spec(i).shape};
    }
    return weights_;
  }

 private:
  std::shared_ptr<Weights> weights_;
};

namespace {

// Everything that does not fit, collected before anything is reported.
struct Mismatch {
  std::vector<std::string> missing, unexpected, misshapen;

  bool any() const { return !missing.empty() || !unexpected.empty() || !misshapen.empty(); }

  static void list(std::string& text, std::string_view title,
                   const std::vector<std::string>& lines) {
    constexpr size_t kShown = 20;
    for (size_t i = 0; i < std::min(lines.size(), kShown); ++i) {
      text += fmt::format("\n  {} {}", title, lines[i]);
    }
    if (lines.size() > kShown) {
      text += fmt::format("\n  {} and {} more", title, lines.size() - kShown);
    }
  }

  std::string describe(const std::string& file, size_t expected) const {
    std::string text = fmt::format(
        "{}: expected the {} tensors of the model, found {} missing, {} unexpected, {} of another "
        "shape or type:",
        file, expected, missing.size(), unexpected.size(), misshapen.size());
    list(text, "missing", missing);
    list(text, "unexpected", unexpected);
    list(text, "misshapen", misshapen);
    return text;
  }
};

bool lies_ready(const TensorView& view) {
  return view.dtype == DType::kF32 && reinterpret_cast<uintptr_t>(view.data) % alignof(float) == 0;
}

void to_floats(const TensorView& view, const float* scales, float* out) {
  copy_as_floats(view, out);
  if (scales == nullptr) return;
  const int64_t rows = output_channels(view.shape), count = view.shape.elements() / rows;
  for (int64_t row = 0; row < rows; ++row, out += count) {
    for (int64_t i = 0; i < count; ++i) out[i] *= scales[row];
  }
}

// What is wrong with the scales of a tensor of codes; empty: nothing.
std::string scales_problem(const ParamSpec& spec, const NamedTensor* scales) {
  const Shape expected{output_channels(spec.shape)};
  if (scales == nullptr) return fmt::format("expected {} beside it", scales_name(spec.name));
  if (scales->view.shape == expected && lies_ready(scales->view)) return "";
  return fmt::format("expected its scales as F32 {}, found {} {}", expected.str(),
                     dtype_name(scales->view.dtype), scales->view.shape.str());
}

}  // namespace

int64_t output_channels(const Shape& weight) {
  if (weight.rank() == 0) return 1;
  return weight.rank() == 4 ? weight[0] : weight.elements() / weight[-1];
}

std::string scales_name(std::string_view param) { return std::string(param) + "_scale"; }

const float* Weights::data(size_t index) const {
  const std::lock_guard lock(mutex_);
  if (data_[index] != nullptr) return data_[index];
  const TensorView& view = stored_[index];
  if (lies_ready(view)) return data_[index] = static_cast<const float*>(view.data);
  copies_.emplace_back(static_cast<size_t>(view.shape.elements()) * sizeof(float));
  to_floats(view, scales_[index], copies_.back().floats());
  return data_[index] = copies_.back().floats();
}

Floats Weights::floats(size_t index) const {
  const TensorView& view = stored_[index];
  if (view.data == nullptr || lies_ready(view)) return Floats(data(index));
  std::vector<float> copy(static_cast<size_t>(view.shape.elements()));
  to_floats(view, scales_[index], copy.data());
  return Floats(std::move(copy));
}

size_t Weights::owned_bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = owned_.bytes();
  for (const Buffer& copy : copies_) bytes += copy.bytes();
  return bytes;
}

void Weights::release_pages() const {
  if (checkpoint_ != nullptr) checkpoint_->release_pages();
}

const float* Weights::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : data(found->second);
}

size_t Weights::index(std::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) fail_usage("the model has no parameter \"{}\"", name);
  return found->second;
}

std::shared_ptr<const Weights> load_weights(std::span<const ParamSpec> specs,
                                            std::shared_ptr<const Checkpoint> checkpoint,
                                            const LoadOptions& options) {
  Mismatch mismatch;
  std::unordered_set<std::string_view> asked;
  std::vector<const TensorView*> views(specs.size(), nullptr);
  std::vector<const NamedTensor*> scales(specs.size(), nullptr);
  for (size_t i = 0; i < specs.size(); ++i) {
    const ParamSpec& spec = specs[i];
    asked.insert(spec.name);
    const NamedTensor* found = checkpoint->find(spec.name);
    if (found == nullptr) {
      mismatch.missing.push_back(spec.name + " " + spec.shape.str());
      continue;
    }
    views[i] = &found->view;
    if (views[i]->shape != spec.shape) {
      mismatch.misshapen.push_back(fmt::format("{}: expected {}, found {}", spec.name,
                                               spec.shape.str(), views[i]->shape.str()));
    } else if (views[i]->dtype == DType::kI8) {
      scales[i] = checkpoint->find(scales_name(spec.name));
      if (scales[i] != nullptr) asked.insert(scales[i]->name);
      if (const std::string problem = scales_problem(spec, scales[i]); !problem.empty()) {
        mismatch.misshapen.push_back(fmt::format("{}: found I8, {}", spec.name, problem));
      }
    } else if (!is_float(views[i]->dtype) && (spec.trained || views[i]->dtype != DType::kI64)) {
      mismatch.misshapen.push_back(fmt::format("{}: expected floating point, found {}", spec.name,
                                               dtype_name(views[i]->dtype)));
    }
  }
  for (const NamedTensor& tensor : checkpoint->tensors()) {
    if (asked.contains(tensor.name)) continue;
    if (options.ignore_unexpected && options.ignore_unexpected(tensor.name)) continue;
    mismatch.unexpected.push_back(printable(tensor.name) + " " + tensor.view.shape.str());
  }
  if (mismatch.any()) {
    throw Error(ErrorCode::kInput, mismatch.describe(checkpoint->path(), specs.size()));
  }

  WeightsMaker maker(specs);
  for (size_t i = 0; i < specs.size(); ++i) {
    const bool codes = scales[i] != nullptr;
    maker.use(i, *views[i], codes ? static_cast<const float*>(scales[i]->view.data) : nullptr);
  }
  return maker.finish(std::move(checkpoint));
}

std::shared_ptr<const Weights> random_weights(std::span<const ParamSpec> specs, uint64_t seed) {
  return WeightsMaker(specs).fill_all(
      [&](size_t i, float* out) { fill_random(specs[i], seed, out); });
}

}  // namespace vig
