// Memory for LibTorch's tensors on the CPU. A training step frees and asks again for the same large
// tensors; the system would clear every page anew each time. Here freed blocks are kept for the
// next tensor of about that size, and large ones lie in large pages.
#pragma once

namespace vig::train {

// For the whole process, before the first tensor; later calls do nothing.
void keep_tensor_memory();

}  // namespace vig::train
