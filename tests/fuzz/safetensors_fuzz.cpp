#include "fuzz/targets.h"
#include "vig/weights/safetensors.h"

namespace vig::fuzz {

void run_safetensors(Bytes bytes) {
  const SafeTensors file = SafeTensors::from_bytes("x", bytes);
  for (const NamedTensor& tensor : file.tensors()) {
    check(file.find(tensor.name) != nullptr, "a tensor is not found by its name");
  }
}

}  // namespace vig::fuzz
