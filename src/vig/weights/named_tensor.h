// What every weight file comes down to: named tensors, and text beside them.
#pragma once

#include <map>
#include <string>

#include "vig/base/shape.h"

namespace vig {

// `view.data` may have any alignment: files do not promise one. See elements.h for access.
struct NamedTensor {
  std::string name;
  TensorView view;
};

using Metadata = std::map<std::string, std::string>;

}  // namespace vig
