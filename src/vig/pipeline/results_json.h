// Results as JSON: the same text from every program.
#pragma once

#include <string>
#include <vector>

#include "vig/pipeline/classifier.h"
#include "vig/pipeline/embedder.h"
#include "vig/pipeline/evaluate.h"

namespace vig {

// An object on one line: {"file", "classes"} or {"file", "error"}. `model` is named unless empty.
// With a threshold "none_of_them" says whether the best class is less probable.
struct ClassificationText {
  std::string model = "";
  double threshold = 0;
};
std::string classification_json(const ClassifiedPicture& picture,
                                const ClassificationText& options = {});

// An object on one line: {"file", "shape", "values"} or {"file", "error"}.
std::string embedding_json(const EmbeddedPicture& picture);

// What was evaluated, and on what.
struct EvaluationTitle {
  std::string model;  // as the caller named it
  std::string arch;
  std::string data;
  std::string split;                     // of the data: "test"; empty where it has none
  std::vector<std::string> class_names;  // of the model's outputs
};

// An object over several lines: the metrics, a table of classes, and the confusion matrix without
// its zeros.
std::string evaluation_json(const EvaluationTitle& title, const Evaluation& result);

}  // namespace vig
