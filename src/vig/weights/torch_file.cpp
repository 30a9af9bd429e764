#include "vig/weights/torch_file.h"

#include <cstring>
#include <optional>
#include <set>

#include "vig/base/error.h"
#include "vig/base/printable.h"

namespace vig {
namespace {

using Kind = Pickle::Kind;
using Value = Pickle::Value;

constexpr size_t kMaxRank = 64;
constexpr size_t kMaxTensors = 100'000;
// Tied weights share a storage, so tensors may claim more bytes than there are; but a small file
// that names one storage ten thousand times wants to fill a memory or a disk.
constexpr uint64_t kMaxSharing = 4;

struct StridedTensor {
  std::string_view name;
  const unsigned char* data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<int64_t> strides;  // in elements

  // Axes of size 1 are never stepped along, so their stride means nothing.
  bool is_row_major() const {
    if (shape.elements() == 0) return true;
    int64_t expected = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (shape[axis] != 1 && strides[static_cast<size_t>(axis)] != expected) return false;
      expected *= shape[axis];
    }
    return true;
  }
};

class StateDictReader {
 public:
  StateDictReader(const TorchContainer& container, const std::string& file, size_t file_bytes)
      : pickle_(container.pickle),
        storages_(container.storages),
        file_(file),
        file_bytes_(file_bytes) {}

  TorchStateDict read(bool prefer_ema) {
    const Value& dict = choose(prefer_ema);
    std::vector<StridedTensor> tensors;
    std::set<std::string_view> names;
    uint64_t claimed = 0;
    for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const Value& key = pickle_[dict.items[i]];
      const Value* call = tensor_call(pickle_[dict.items[i + 1]]);
      if (key.kind != Kind::kText || call == nullptr) continue;
      if (!names.insert(key.text).second) {
        fail("{}: tensor \"{}\" is given twice", file_, printable(key.text));
      }
      if (tensors.size() == kMaxTensors) {
        fail("{}: expected at most {} tensors (a fixed limit), found more", file_, kMaxTensors);
      }
      tensors.push_back(rebuild(key.text, *call));
      const StridedTensor& tensor = tensors.back();
      claimed += static_cast<uint64_t>(tensor.shape.elements()) * dtype_size(tensor.dtype);
      if (claimed / kMaxSharing > file_bytes_) {
        fail("{}: its tensors claim more than {} times the file's {} bytes (a fixed limit)", file_,
             kMaxSharing, file_bytes_);
      }
    }
    if (tensors.empty()) fail("{}: expected a state dict, found no tensors", file_);

    TorchStateDict result;
    for (StridedTensor& tensor : tensors) {
      const void* data = tensor.data;
      if (!tensor.is_row_major()) data = result.copies.emplace_back(copy(tensor)).data();
      result.tensors.push_back(
          {std::string(tensor.name), {data, tensor.dtype, std::move(tensor.shape)}});
    }
    return result;
  }

 private:
  const Value& choose(bool prefer_ema) const {
    const Value& root = pickle_.root();
    if (root.kind != Kind::kDict) fail("{}: expected a dictionary of tensors, found none", file_);
    const auto dict_at = [&](std::initializer_list<std::string_view> keys) -> const Value* {
      for (std::string_view key : keys) {
        const Value* found = pickle_.find(root, key);
        if (found != nullptr && found->kind == Kind::kDict) return found;
      }
      return nullptr;
    };
    if (prefer_ema) {
      if (const Value* ema = dict_at({"model_ema", "state_dict_ema"})) return *ema;
      fail("{}: expected averaged weights under \"model_ema\", found {}", file_, keys_of(root));
    }
    if (const Value* dict = dict_at({"model", "state_dict", "model_ema"})) return *dict;
    for (size_t i = 1; i < root.items.size(); i += 2) {
      if (tensor_call(pickle_[root.items[i]]) != nullptr) return root;
    }
    fail("{}: expected tensors, or a dictionary \"model\" of them, found {}", file_, keys_of(root));
  }

  std::string keys_of(const Value& dict) const {
    constexpr int kShown = 10;
    std::string list;
    int shown = 0;
    for (size_t i = 0; i < dict.items.size(); i += 2) {
      const Value& key = pickle_[dict.items[i]];
      if (key.kind != Kind::kText) continue;
      if (shown++ == kShown) return list + ", ...";
      list += (list.empty() ? "\"" : ", \"") + printable(key.text, 40) + "\"";
    }
    return list.empty() ? "nothing" : "only " + list;
  }

  // The call that rebuilds a tensor, with a parameter's wrapping taken off; null for other values.
  const Value* tensor_call(const Value& value) const {
    const Value* call = &value;
    if (call->kind == Kind::kCall && call->global->role == GlobalRole::kParameter &&
        !call->items.empty()) {
      call = &pickle_[call->items[0]];
    }
    const bool tensor = call->kind == Kind::kCall && call->global->role == GlobalRole::kTensor;
    return tensor ? call : nullptr;
  }

  // _rebuild_tensor_v2(storage, offset, sizes, strides, ...)
  StridedTensor rebuild(std::string_view name, const Value& call) const {
    const auto bad = [&](std::string_view what) {
      fail("{}: tensor \"{}\" {}", file_, printable(name), what);
    };
    if (call.items.size() < 4) bad("has an unknown form");
    const StorageRef ref = storage_ref(pickle_, pickle_[call.items[0]], file_);
    const Value& offset = pickle_[call.items[1]];
    const auto sizes = counts(pickle_[call.items[2]]);
    auto strides = counts(pickle_[call.items[3]]);
    if (offset.kind != Kind::kInt || !sizes || !strides || sizes->size() != strides->size()) {
      bad("has an unknown form");
    }
    if (sizes->size() > kMaxRank)
      bad(fmt::format("has more than {} axes (a fixed limit)", kMaxRank));
    if (offset.integer < 0) bad("begins before its storage");

    const auto storage = storages_.find(ref.key);
    if (storage == storages_.end()) bad("has its storage missing");
    const size_t width = dtype_size(ref.dtype);
    if (static_cast<uint64_t>(ref.numel) > storage->second.size() / width) {
      fail("{}: tensor \"{}\" needs a storage of {} {}, found {} bytes", file_, printable(name),
           ref.numel, dtype_name(ref.dtype), storage->second.size());
    }

    const Shape shape{std::vector<int64_t>(*sizes)};
    int64_t last = offset.integer;  // index of the last element
    int64_t bytes = static_cast<int64_t>(width);
    bool overflow = false;
    for (size_t axis = 0; axis < sizes->size(); ++axis) {
      overflow |= __builtin_mul_overflow(bytes, (*sizes)[axis], &bytes);
    }
    if (overflow) bad("is larger than any memory");
    if (bytes == 0) return {name, storage->second.data(), ref.dtype, shape, std::move(*strides)};
    for (size_t axis = 0; axis < sizes->size(); ++axis) {
      int64_t reach = 0;
      overflow |= __builtin_mul_overflow((*sizes)[axis] - 1, (*strides)[axis], &reach);
      overflow |= __builtin_add_overflow(last, reach, &last);
    }
    if (overflow || last >= ref.used) bad("reaches beyond its storage");
    const auto first = static_cast<size_t>(ref.first + offset.integer);
    return {name, storage->second.data() + first * width, ref.dtype, shape, std::move(*strides)};
  }

  // Sizes or strides; nothing when there is a negative or a non-number among them.
  std::optional<std::vector<int64_t>> counts(const Value& value) const {
    if (value.kind != Kind::kTuple && value.kind != Kind::kList) return std::nullopt;
    std::vector<int64_t> dimensions;
    for (Pickle::Id id : value.items) {
      if (pickle_[id].kind != Kind::kInt || pickle_[id].integer < 0) return std::nullopt;
      if (dimensions.size() > kMaxRank) break;
      dimensions.push_back(pickle_[id].integer);
    }
    return dimensions;
  }

  Buffer copy(const StridedTensor& tensor) const {
    const size_t width = dtype_size(tensor.dtype);
    std::vector<int64_t> sizes, strides;  // of the axes with something to count
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
      if (tensor.shape[axis] == 1) continue;
      sizes.push_back(tensor.shape[axis]);
      strides.push_back(tensor.strides[static_cast<size_t>(axis)]);
    }
    const int64_t count = tensor.shape.elements();
    Buffer buffer(static_cast<size_t>(count) * width);
    auto* out = static_cast<unsigned char*>(buffer.data());
    std::vector<int64_t> index(sizes.size(), 0);
    int64_t source = 0;
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(out + static_cast<size_t>(i) * width,
                  tensor.data + static_cast<size_t>(source) * width, width);
      for (size_t axis = sizes.size(); axis-- > 0;) {  // count up, the last axis fastest
        source += strides[axis];
        if (++index[axis] < sizes[axis]) break;
        source -= strides[axis] * sizes[axis];
        index[axis] = 0;
      }
    }
    return buffer;
  }

  const Pickle& pickle_;
  const std::map<std::string_view, std::span<const unsigned char>>& storages_;
  const std::string& file_;
  size_t file_bytes_;
};

}  // namespace

TorchStateDict read_state_dict(const TorchContainer& container, const std::string& file,
                               size_t file_bytes, bool prefer_ema) {
  return StateDictReader(container, file, file_bytes).read(prefer_ema);
}

}  // namespace vig
