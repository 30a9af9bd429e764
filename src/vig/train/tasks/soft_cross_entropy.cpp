#include "vig/train/tasks/soft_cross_entropy.h"

namespace vig::train {

at::Tensor soft_cross_entropy(const at::Tensor& logits, const at::Tensor& targets) {
  return -(targets * at::log_softmax(logits, 1)).sum(1).mean();
}

}  // namespace vig::train
