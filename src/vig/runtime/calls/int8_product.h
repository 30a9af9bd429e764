// Integer products: rows are quantised once for all layers that read them, then multiplied.
#pragma once

#include "vig/runtime/calls/product.h"

namespace vig {

// A linear layer in integers, and a convolution by the windows of its kernel. `spec.in` is the
// value before it is quantised.
void add_int8_product(Lowering& to, const ProductCall::Spec& spec, MacCount macs);
void add_int8_conv(Lowering& to, const ProductCall::Spec& spec, const ConvOp& op);

}  // namespace vig
