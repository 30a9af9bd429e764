#include "vig/tasks/classification.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "vig/base/error.h"

namespace vig {

void softmax(std::span<float> values) {
  if (values.empty()) return;
  const float largest = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (float& value : values) {
    value = std::exp(value - largest);
    sum += value;
  }
  for (float& value : values) value = static_cast<float>(value / sum);
}

Classification decode_classes(std::span<const float> logits, int top,
                              std::span<const std::string> names, double temperature) {
  if (!names.empty() && names.size() != logits.size()) {
    fail("[classify] {} class names for {} classes", names.size(), logits.size());
  }
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) {
      fail("[classify] the score of class {} is {}, expected a finite number", i, logits[i]);
    }
  }
  std::vector<float> probabilities(logits.begin(), logits.end());
  if (temperature != 1 && !probabilities.empty()) {
    const float largest = *std::ranges::max_element(probabilities);
    for (float& value : probabilities) {
      value = static_cast<float>((double{value} - largest) / temperature);
    }
  }
  softmax(probabilities);

  std::vector<int> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto count = std::min<size_t>(static_cast<size_t>(std::max(top, 0)), order.size());
  // Ties are broken by index, so the order does not depend on the sorting algorithm.
  std::partial_sort(
      order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
      [&](int a, int b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  Classification result;
  for (size_t i = 0; i < count; ++i) {
    const int index = order[i];
    result.scores.push_back(
        {index, names.empty() ? std::string() : names[index], probabilities[index], logits[index]});
  }
  return result;
}

}  // namespace vig
