#include "vig/train/tasks/soft_cross_entropy.h"

namespace vig::train {

at::Tensor soft_cross_entropy(const at::Tensor& logits, const at::Tensor& targets,
                              const at::Tensor& weights) {
  const at::Tensor shares = weights.defined() ? targets * weights.to(targets.device()) : targets;
  return -(shares * at::log_softmax(logits, 1)).sum(1).mean();
}

}  // namespace vig::train
