// `vig eval RUN`: the best network of a training run on the images it was validated with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vig/data/dataset.h"
#include "vig/image/decode.h"

namespace vig::cli {

// What run.json in the folder of a run says about it.
struct TrainedRun {
  std::string folder;
  std::string model;       // best.safetensors
  std::string data;        // where its images are
  bool own_split = false;  // the data has a split "val"; else list() names what was held out
  DecodeOptions decode;    // as in training

  // Throws when the data or one of the images is not there any more.
  Dataset images() const;
  // Throws when the data is not there any more.
  void check_data() const;
  std::string list() const;
  // The names of the images that were held out, a line each.
  std::vector<std::string> held_out() const;
};

// None if `path` is not the folder of a run. `data`, unless empty, is where the images are now.
// Throws when the run has no validation images or no network yet.
std::optional<TrainedRun> find_run(const std::string& path, const std::string& data);

}  // namespace vig::cli
