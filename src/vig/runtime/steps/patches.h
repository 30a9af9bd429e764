// The patches that a dense convolution sees, one a row; a product follows.
#pragma once

#include <memory>

#include "vig/runtime/step.h"

namespace vig {

std::unique_ptr<Step> make_patches(int in, int out, const ConvOp& op);

}  // namespace vig
