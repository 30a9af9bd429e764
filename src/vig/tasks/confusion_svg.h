// What a classifier takes for what, as a picture.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "vig/tasks/metrics.h"

namespace vig {

// A row for each label, a column for each answer. The shade of a square is its share of the row,
// right answers in blue and mistakes in red; its count is printed where it fits, and otherwise
// shows under the pointer. `names` is empty (numbers stand instead) or has one name per class.
std::string confusion_svg(const ClassificationMetrics& metrics, std::span<const std::string> names,
                          std::string_view title);

}  // namespace vig
