// Compiled with the tests and, copied, by a project that uses the installed library: both must
// print the same bits.
#pragma once

#include <cstdio>
#include <string>

#include "vig/pipeline/classifier.h"

namespace vig::test {

// A line for each class of the image, its probability to the last bit.
inline std::string probabilities(const std::string& weights, const std::string& file) {
  ModelRequest request;
  request.model = weights;
  const Classifier classifier(request);
  const Classification result = classifier.classify(ImageFiles({file}), 1000).front().prediction;
  std::string text;
  for (const ClassScore& score : result.scores) {
    char line[64];
    std::snprintf(line, sizeof line, "%d %a\n", score.index, score.probability);
    text += line;
  }
  return text;
}

}  // namespace vig::test
