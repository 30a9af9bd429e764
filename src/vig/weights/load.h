// Parameters of a graph bound to values: from a checkpoint, or fresh.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vig/base/buffer.h"
#include "vig/graph/param.h"
#include "vig/weights/checkpoint.h"

namespace vig {

// One float array per parameter, in the order of the specs. Immutable, shared between sessions and
// threads; keeps the file's mapping alive. Arrays are row-major and aligned to 4 bytes only when
// they lie in the mapping, to 64 bytes otherwise.
class Weights {
 public:
  size_t size() const { return specs_.size(); }
  const ParamSpec& spec(size_t index) const { return specs_[index]; }
  const float* data(size_t index) const { return data_[index]; }
  const float* find(std::string_view name) const;  // null when absent
  // Throws when absent.
  size_t index(std::string_view name) const;
  // Bytes held beside the mapping, for memory reports.
  size_t owned_bytes() const { return owned_.bytes(); }

 private:
  friend class WeightsMaker;
  Weights() = default;

  std::vector<ParamSpec> specs_;
  std::vector<const float*> data_;
  std::unordered_map<std::string_view, size_t> index_;  // keys point into specs_
  Buffer owned_;
  std::shared_ptr<const Checkpoint> checkpoint_;
};

struct LoadOptions {
  // Names for which this is true may stand in the file without being asked for, such as the
  // `num_batches_tracked` of a batch norm.
  std::function<bool(std::string_view name)> ignore_unexpected;
};

// F32 tensors aligned to 4 bytes are used where they lie; F16, BF16, F64 and unaligned ones are
// converted into memory of our own, and so are I64 ones that no gradient changes. Throws one Error
// that lists every missing, unexpected, misshapen or non-float tensor, so that a wrong variant
// shows at a glance.
std::shared_ptr<const Weights> load_weights(std::span<const ParamSpec> specs,
                                            std::shared_ptr<const Checkpoint> checkpoint,
                                            const LoadOptions& options = {});

// Fills by each spec's Init. A tensor's values depend on `seed`, its name and its size alone, so
// adding or reordering parameters changes no other.
std::shared_ptr<const Weights> random_weights(std::span<const ParamSpec> specs, uint64_t seed);

// The same values for one parameter, for callers with memory of their own. `out` holds
// spec.shape.elements() floats. Truncated normal is cut at +-2 absolute, as PyTorch does by
// default.
void fill_random(const ParamSpec& spec, uint64_t seed, float* out);

}  // namespace vig
