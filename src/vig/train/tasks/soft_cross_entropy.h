// The loss of a classifier.
#pragma once

#include <ATen/ATen.h>

namespace vig::train {

// Mean over the batch of -sum(target * log softmax(logits)); both [batch, classes].
at::Tensor soft_cross_entropy(const at::Tensor& logits, const at::Tensor& targets);

}  // namespace vig::train
