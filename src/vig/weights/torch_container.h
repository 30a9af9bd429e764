// The two containers torch.save has used: a zip archive (since 1.6) and a chain of pickles before.
// Both hold one pickle that describes the object and, apart from it, the raw storages.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "vig/weights/pickle.h"

namespace vig {

// What a pickle says of a storage: `numel` elements of `dtype`, of which a legacy file may mean
// only the part from `first` on.
struct StorageRef {
  std::string_view key;
  DType dtype = DType::kF32;
  int64_t numel = 0;  // of the whole storage
  int64_t first = 0;
  int64_t used = 0;
};

struct TorchContainer {
  Pickle pickle;
  // By key; ordered, because keys can be chosen so that all of them have one hash.
  std::map<std::string_view, std::span<const unsigned char>> storages;
};

bool is_torch_legacy(std::span<const unsigned char> bytes);

// `bytes` must outlive the result. Errors begin with `file`.
TorchContainer open_torch_zip(std::span<const unsigned char> bytes, const std::string& file);
TorchContainer open_torch_legacy(std::span<const unsigned char> bytes, const std::string& file);

// Throws when `value` does not name a storage.
StorageRef storage_ref(const Pickle& pickle, const Pickle::Value& value, const std::string& file);

}  // namespace vig
