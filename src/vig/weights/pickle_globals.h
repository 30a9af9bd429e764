// The names a pickle may mention. Everything else is refused by name.
#pragma once

#include <string_view>

#include "vig/base/shape.h"

namespace vig {

enum class GlobalRole {
  kDict,       // calling it makes a dictionary
  kSize,       // calling it makes a tuple
  kTensor,     // rebuilds a tensor from a storage
  kParameter,  // wraps a tensor
  kStorage,    // an element type
  kInert,      // may stand beside the weights; the object it makes is never read
};

struct KnownGlobal {
  std::string_view module;
  std::string_view name;
  GlobalRole role;
  DType dtype = DType::kF32;  // of a storage
};

// Null for a name that is not on the list.
const KnownGlobal* find_known_global(std::string_view module, std::string_view name);

}  // namespace vig
