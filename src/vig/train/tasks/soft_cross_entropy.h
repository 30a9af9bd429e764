// The loss of a classifier.
#pragma once

#include <ATen/ATen.h>

namespace vig::train {

// Mean over the batch of -sum(weight * target * log softmax(logits)); logits and targets are
// [batch, classes], weights [classes], undefined where all are 1.
at::Tensor soft_cross_entropy(const at::Tensor& logits, const at::Tensor& targets,
                              const at::Tensor& weights = {});

}  // namespace vig::train
