// Attention that stores the logits of all heads and their softmax.
#pragma once

#include <memory>

#include "vig/runtime/kernel_call.h"

namespace vig {

std::unique_ptr<ImageCall> make_eager_attention(int qkv, int out, const AttentionOp& op,
                                                const Grid& grid);

}  // namespace vig
