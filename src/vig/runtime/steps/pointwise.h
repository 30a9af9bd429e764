// Elementwise work that found nothing to be fused with.
#pragma once

#include <memory>

#include "vig/runtime/step.h"

namespace vig {

// function(in)
std::unique_ptr<Step> make_pointwise(Elementwise function, int in, int out);

}  // namespace vig
