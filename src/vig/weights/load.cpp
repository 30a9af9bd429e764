#include "vig/weights/load.h"

#include <algorithm>
#include <unordered_set>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/weights/elements.h"

namespace vig {

// Builds Weights in two passes: first where every array goes, then one allocation for all of those
// that do not lie in the file.
class WeightsMaker {
 public:
  explicit WeightsMaker(std::span<const ParamSpec> specs) : weights_(new Weights) {
    weights_->specs_.assign(specs.begin(), specs.end());
    weights_->data_.resize(specs.size());
    owned_at_.resize(specs.size(), kMapped);
    for (size_t i = 0; i < specs.size(); ++i) weights_->index_.emplace(weights_->spec(i).name, i);
  }

  void use(size_t index, const float* data) { weights_->data_[index] = data; }

  void reserve(size_t index) {
    constexpr size_t kLine = 64;
    owned_at_[index] = bytes_;
    const size_t size = static_cast<size_t>(weights_->spec(index).shape.elements()) * sizeof(float);
    bytes_ += (size + kLine - 1) / kLine * kLine;
  }

  // `fill(index, out)` is called for every reserved array.
  template <typename Fill>
  std::shared_ptr<const Weights> finish(std::shared_ptr<const Checkpoint> checkpoint, Fill fill) {
    weights_->owned_ = Buffer(bytes_);
    for (size_t i = 0; i < owned_at_.size(); ++i) {
      if (owned_at_[i] == kMapped) continue;
      float* out = weights_->owned_.floats() + owned_at_[i] / sizeof(float);
      fill(i, out);
      weights_->data_[i] = out;
    }
    weights_->checkpoint_ = std::move(checkpoint);
    return weights_;
  }

 private:
  static constexpr size_t kMapped = SIZE_MAX;

  std::shared_ptr<Weights> weights_;
  std::vector<size_t> owned_at_;  // byte offset
  size_t bytes_ = 0;
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

}  // namespace

const float* Weights::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : data_[found->second];
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
    if (lies_ready(*views[i])) {
      maker.use(i, static_cast<const float*>(views[i]->data));
    } else {
      maker.reserve(i);
    }
  }
  return maker.finish(std::move(checkpoint),
                      [&](size_t i, float* out) { copy_as_floats(*views[i], out); });
}

std::shared_ptr<const Weights> random_weights(std::span<const ParamSpec> specs, uint64_t seed) {
  WeightsMaker maker(specs);
  for (size_t i = 0; i < specs.size(); ++i) maker.reserve(i);
  return maker.finish(nullptr, [&](size_t i, float* out) { fill_random(specs[i], seed, out); });
}

}  // namespace vig
