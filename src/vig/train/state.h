// What a run knows besides the network: where it stands and what it has measured. Saved with the
// weights as one file that appears complete or not at all.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "vig/train/optimizer.h"
#include "vig/train/parameters.h"

namespace vig::train {

// One line of metrics.csv: what happened since the line before. NaN: not measured.
struct MetricsRow {
  double epoch = 0;
  int64_t step = 0;
  double lr = 0;
  double train_loss = 0;
  double train_top1 = 0;
  double val_loss = std::numeric_limits<double>::quiet_NaN();
  double val_top1 = std::numeric_limits<double>::quiet_NaN();
  double val_top5 = std::numeric_limits<double>::quiet_NaN();
  double val_balanced = std::numeric_limits<double>::quiet_NaN();  // mean recall of the classes
  double images_per_second = 0;
  double seconds = 0;  // of training since the start of the run, interruptions not counted
};

struct RunState {
  int64_t step = 0;     // steps done
  double loss_sum = 0;  // since the last row
  int64_t hits = 0, seen = 0;
  double loss_steps = 0;   // a partial batch counts as its share of a whole one
  double row_seconds = 0;  // since the last row
  double seconds = 0;
  bool row_due = false;  // the step calls for a validation that has not been made
  // Of the best network: what it was chosen by (see validation.h), and the rest.
  double best_score = -1, best_top1 = -1, best_loss = 0;
  int64_t best_step = -1;
  std::vector<MetricsRow> rows;
};

// `description` says which run this is; reading gives it back for comparison.
void write_checkpoint(const std::string& path, const RunState& state, Parameters& parameters,
                      AdamW& optimizer, const std::map<std::string, std::string>& description);

// What a checkpoint says without its tensors.
std::map<std::string, std::string> read_description(const std::string& path);
int64_t read_step(const std::string& path);

// Fills state, parameters and optimiser. Raises when the file belongs to another network.
void read_checkpoint(const std::string& path, RunState& state, Parameters& parameters,
                     AdamW& optimizer);

std::string metrics_csv(const std::vector<MetricsRow>& rows);

}  // namespace vig::train
