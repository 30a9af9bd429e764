// Parameters of a graph bound to values: from a checkpoint, or fresh.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vig/base/buffer.h"
#include "vig/graph/param.h"
#include "vig/weights/checkpoint.h"

namespace vig {

// The floats of one parameter: where they lie, or a copy that lives as long as this.
class Floats {
 public:
  explicit Floats(const float* data) : data_(data) {}
  explicit Floats(std::vector<float> copy) : copy_(std::move(copy)), data_(copy_.data()) {}
  Floats(Floats&&) = default;

  const float* data() const { return data_; }

 private:
  std::vector<float> copy_;
  const float* data_;
};

// Numbers of parameters whose stored type is I8: codes, with the scale of each output channel
// beside them in the file. An output channel is a row of [.., in], or [in, kernel, kernel] of a
// convolution.
int64_t output_channels(const Shape& weight);
std::string scales_name(std::string_view param);  // of the tensor in the file

// One array per parameter, in the order of the specs. Immutable, shared between sessions and
// threads; keeps the file's mapping alive. Arrays are row-major; floats are aligned to 4 bytes only
// when they lie in the mapping, to 64 bytes otherwise.
class Weights {
 public:
  size_t size() const { return specs_.size(); }
  const ParamSpec& spec(size_t index) const { return specs_[index]; }
  // As stored; data is null for random numbers, which have no file.
  const TensorView& stored(size_t index) const { return stored_[index]; }
  // Of a parameter that is stored as I8, one per output channel; null otherwise.
  const float* scales(size_t index) const { return scales_[index]; }
  // As floats. Where the file holds another type, `data` makes a copy at the first call and keeps
  // it; `floats` keeps none.
  const float* data(size_t index) const;
  Floats floats(size_t index) const;
  const float* find(std::string_view name) const;  // null when absent
  // Throws when absent.
  size_t index(std::string_view name) const;
  // Bytes held beside the mapping, for memory reports.
  size_t owned_bytes() const;
  // Gives the pages of the file that were read back to the system; they are read again where they
  // are needed again.
  void release_pages() const;

 private:
  friend class WeightsMaker;
  Weights() = default;

  std::vector<ParamSpec> specs_;
  std::vector<TensorView> stored_;
  std::vector<const float*> scales_;
  std::unordered_map<std::string_view, size_t> index_;  // keys point into specs_
  Buffer owned_;                                        // random numbers
  mutable std::mutex mutex_;                            // of what follows
  mutable std::vector<const float*> data_;              // null: not asked for yet
  mutable std::vector<Buffer> copies_;
  std::shared_ptr<const Checkpoint> checkpoint_;
};

struct LoadOptions {
  // Names for which this is true may stand in the file without being asked for, such as the
  // `num_batches_tracked` of a batch norm.
  std::function<bool(std::string_view name)> ignore_unexpected;
};

// F32 tensors aligned to 4 bytes are used where they lie; F16, BF16, F64 and unaligned ones are
// converted where floats are asked for, and so are I64 ones that no gradient changes, and I8 ones
// with their scales. Throws one Error that lists every missing, unexpected, misshapen or non-float
// tensor, so that a wrong variant shows at a glance.
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
