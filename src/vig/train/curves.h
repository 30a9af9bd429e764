// The image of a run: loss, what the task measures, and learning rate over the epochs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "vig/train/metrics.h"

namespace vig::train {

struct CurvesInfo {
  std::string title;
  std::string note;  // below the curves where the training loss ends above the validation loss
  Columns columns;
  int64_t best_step = -1;       // of the best network; -1: none is the best yet
  size_t best_column = 0;       // of columns.val: what it was chosen by
  std::string best_label = {};  // its figure in words
  std::string best_note = {};   // why it is not the highest; empty: it is
};

// "RUN: MODEL on DATA", of folders and archives the last part of their names.
std::string curves_title(const std::string& run, const std::string& model, const std::string& data);

std::string curves_svg(const CurvesInfo& info, const std::vector<MetricsRow>& rows);

}  // namespace vig::train
