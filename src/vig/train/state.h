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
  double images_per_second = 0;
  double seconds = 0;  // of training since the start of the run, interruptions not counted
};

struct RunState {
  int64_t step = 0;     // steps done
  double loss_sum = 0;  // since the last row
  int64_t hits = 0, seen = 0, loss_steps = 0;
  double row_seconds = 0;  // since the last row
  double seconds = 0;
  double best_top1 = -1, best_loss = 0;
  int64_t best_step = -1;
  std::vector<MetricsRow> rows;
};

// `description` says which run this is; reading gives it back for comparison.
void write_checkpoint(const std::string& path, const RunState& state, Parameters& parameters,
                      AdamW& optimizer, const std::map<std::string, std::string>& description);

// Fills state, parameters and optimiser. Raises when the file belongs to another network.
std::map<std::string, std::string> read_description(const std::string& path);
void read_checkpoint(const std::string& path, RunState& state, Parameters& parameters,
                     AdamW& optimizer);

std::string metrics_csv(const std::vector<MetricsRow>& rows);
std::string curves_svg(const std::string& title, const std::vector<MetricsRow>& rows);

}  // namespace vig::train
