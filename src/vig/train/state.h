// What a run knows besides the network: where it stands and what it has measured. Saved with the
// weights as one file that appears complete or not at all.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vig/torch/parameters.h"
#include "vig/train/metrics.h"
#include "vig/train/optimizer.h"

namespace vig::train {

struct RunState {
  int64_t step = 0;  // steps done
  // Since the last row: the loss, images, and the task's own sums over images (Columns::train).
  double loss_sum = 0;
  double loss_steps = 0;  // a partial batch counts as its share of a whole one
  int64_t seen = 0;
  std::vector<double> sums;
  double row_seconds = 0;

  double seconds = 0;
  bool row_due = false;    // the step calls for a validation that has not been made
  int64_t best_step = -1;  // of the best network; -1: none yet
  std::vector<MetricsRow> rows;

  // The row of the best network; null: none yet.
  const MetricsRow* best() const;
  // Rows after both steps: the one of the highest figure, and `from`.
  int64_t rows_since(int64_t highest_step, int64_t from) const;
  // A row of what was summed since the last one; what the sums do not say is left out.
  MetricsRow open_row() const;
  // Adds it and resets the sums.
  void close_row(const MetricsRow& row);
};

// Of a run that has not begun.
RunState new_state(const Columns& columns);

// `description` says which run this is; reading gives it back for comparison.
void write_checkpoint(const std::string& path, const RunState& state, Parameters& parameters,
                      AdamW& optimizer, const std::map<std::string, std::string>& description);

// What a checkpoint says without its tensors.
std::map<std::string, std::string> read_description(const std::string& path);
int64_t read_step(const std::string& path);

// Fills parameters and optimiser, and gives the state. Throws when the file belongs to another
// network or another task.
RunState read_checkpoint(const std::string& path, const Columns& columns, Parameters& parameters,
                         AdamW& optimizer);

}  // namespace vig::train
