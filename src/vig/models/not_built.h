// Public checkpoints of networks that are not built here, known by their tensors, so that a user
// reads what a file is instead of what it is not.
#pragma once

#include <string>

#include "vig/models/config.h"

namespace vig {

// "torchvision's swin_v2_t"; empty where the tensors are those of no network in the list.
std::string known_but_not_built(const TensorShapes& shapes);

}  // namespace vig
