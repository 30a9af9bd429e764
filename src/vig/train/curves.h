// The picture of a run: loss, accuracy and learning rate over the epochs.
#pragma once

#include <string>
#include <vector>

#include "vig/train/options.h"
#include "vig/train/state.h"

namespace vig::train {

struct CurvesInfo {
  std::string title;
  bool balanced = false;   // the best network is chosen by balanced accuracy
  int64_t best_step = -1;  // -1: none is the best yet
  std::string note;        // below the curves
};

// "RUN: MODEL on DATA", of folders and archives the last part of their names.
std::string curves_title(const std::string& run, const std::string& model, const std::string& data);

// Why the loss in training is above that in validation, naming what was on; empty if nothing was.
std::string loss_note(const TrainOptions& options, double drop_path);

std::string curves_svg(const CurvesInfo& info, const std::vector<MetricsRow>& rows);

}  // namespace vig::train
