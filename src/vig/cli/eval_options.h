// The options of `vig eval`.
#pragma once

#include <string>
#include <vector>

#include "vig/cli/image_command.h"

namespace vig::cli {

struct EvalOptions {
  NetworkOptions network;
  std::string data;
  std::string run_data;  // where the images of a run are, if DATA is a run and they moved
  std::string split;
  std::string shard;  // "2/8"; empty: all
  std::string confusion;
  std::string csv;
  bool json = false;
  std::vector<std::string> compare;  // two precisions of a classifier; empty: only one
  // Of classifiers.
  std::string predictions;
  int mistakes = 0;
  bool calibration = false;
  std::string page = "mistakes.html";
  // Of segmentation networks and detectors.
  int worst = 0;
  std::string worst_folder = "worst";
  int window = -1;  // below 0: as the weight file says
  bool whole = false;
  std::string curves;
};

}  // namespace vig::cli
