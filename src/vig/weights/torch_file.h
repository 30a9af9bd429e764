// The state dict inside a PyTorch checkpoint.
#pragma once

#include <string>
#include <vector>

#include "vig/base/buffer.h"
#include "vig/weights/safetensors.h"
#include "vig/weights/torch_container.h"

namespace vig {

struct TorchStateDict {
  std::vector<NamedTensor> tensors;  // views into the container's bytes or into `copies`
  std::vector<Buffer> copies;        // of tensors that are not row-major in the file
};

// Tensors below `model`, `state_dict` or `model_ema`, or of the object itself; with `prefer_ema`
// below `model_ema` or throws. Every view is checked against its storage, every storage against
// the file; together they may not claim more than a few times the file's size. Errors begin with
// `file`.
TorchStateDict read_state_dict(const TorchContainer& container, const std::string& file,
                               size_t file_bytes, bool prefer_ema);

}  // namespace vig
