// A confusion matrix as an image.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/tasks/metrics.h"

namespace vig {

// A row for each label, a column for each prediction. The shade of a square is its share of the
// row, right predictions in blue and mistakes in red, with a key to the shades; its count is
// printed where it fits, and otherwise shows under the pointer. Recall stands at the end of each
// row, precision below each column. Above 30 classes, where single squares cannot be made out, the
// ten largest confusions are listed below. `names` is empty (indices are shown instead) or has one
// name per class. `unit`: what is counted.
std::string confusion_svg(const ClassificationMetrics& metrics, std::span<const std::string> names,
                          std::string_view title, std::string_view unit = "images");

struct Confusion {
  int label = 0;
  int predicted = 0;  // not the label
  int64_t images = 0;

  bool operator==(const Confusion&) const = default;
};
// The `most` pairs with the most images, largest first; of equal ones in order of label and
// prediction.
std::vector<Confusion> largest_confusions(const ClassificationMetrics& metrics, size_t most);

}  // namespace vig
