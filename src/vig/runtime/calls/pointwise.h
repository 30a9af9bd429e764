// Elementwise work that found nothing to be fused with.
#pragma once

#include <memory>

#include "vig/runtime/kernel_call.h"

namespace vig {

// function(in)
std::unique_ptr<KernelCall> make_pointwise(Elementwise function, int in, int out);
// a + b
std::unique_ptr<KernelCall> make_sum(int a, int b, int out);

}  // namespace vig
