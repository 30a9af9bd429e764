#include "vig/train/best_network.h"

namespace vig::train {

const MetricsRow* highest_row(const Task& task, std::span<const MetricsRow> rows) {
  const MetricsRow* highest = nullptr;
  for (const MetricsRow& row : rows) {
    if (highest == nullptr || task.better(row.val, highest->val)) highest = &row;
  }
  return highest;
}

bool becomes_best(const Task& task, std::span<const MetricsRow> rows, const MetricsRow& row) {
  const MetricsRow* highest = highest_row(task, rows);
  if (highest == nullptr || task.data().val == nullptr) return true;
  if (task.better(row.val, highest->val)) return true;
  const double error = task.best_error(highest->val);
  const size_t column = task.best_column();
  return error > 0 && row.val[column] >= highest->val[column] - error;
}

}  // namespace vig::train
