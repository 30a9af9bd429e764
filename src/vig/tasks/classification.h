// From logits to classes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "vig/tasks/results.h"

namespace vig {

// Whether no class reaches the probability `threshold`; not a number reaches nothing.
inline constexpr const char* kNoneOfThem = "none of them";
inline bool none_of_them(const Classification& result, double threshold) {
  return result.scores.empty() || !(result.scores.front().probability >= threshold);
}

// exp(x - max) / sum, in place. Throws nothing: finite values in, finite values out.
void softmax(std::span<float> values);

// The `top` best of all classes (all of them when there are fewer), with probabilities over all
// classes: the softmax of the logits over `temperature`. `names` is empty or has one name per
// class. Throws when a logit is not finite.
Classification decode_classes(std::span<const float> logits, int top,
                              std::span<const std::string> names, double temperature = 1);

}  // namespace vig
