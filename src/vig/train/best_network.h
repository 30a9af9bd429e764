// Which network of a run is the best one.
//
// Figures of validation images are noisy, and the highest of many is high by chance. So the best
// network is the last whose figure lies within one standard error of the highest
// (Task::best_error), or the highest where that is not known. The rows alone decide, so a run that
// was interrupted chooses the same.
#pragma once

#include <span>

#include "vig/train/task.h"

namespace vig::train {

// The row of the highest figure, by Task::better; null: there are no rows.
const MetricsRow* highest_row(const Task& task, std::span<const MetricsRow> rows);

// Whether the network of `row`, which follows `rows`, becomes the best one.
bool becomes_best(const Task& task, std::span<const MetricsRow> rows, const MetricsRow& row);

}  // namespace vig::train
