#include "fuzz/targets.h"
#include "vig/weights/checkpoint.h"
#include "vig/weights/torch_container.h"

namespace vig::fuzz {

void run_torch_legacy(Bytes bytes) {
  if (!is_torch_legacy(bytes)) return;
  // Every byte of every tensor, as loading would read them.
  volatile unsigned char last = 0;
  const Checkpoint checkpoint = Checkpoint::from_bytes("x", bytes);
  for (const NamedTensor& tensor : checkpoint.tensors()) {
    const auto* data = static_cast<const unsigned char*>(tensor.view.data);
    for (size_t i = 0; i < tensor.view.bytes(); ++i) last = data[i];
  }
  static_cast<void>(last);
}

}  // namespace vig::fuzz
