// How a detection went, for whoever measures or proves it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "vig/tasks/proposals.h"

namespace vig {

struct DetectTrace {
  std::vector<Proposal> proposals;
  // What its time was spent on, in order, in seconds by the clock.
  std::vector<std::pair<std::string, double>> stages;
  // The model's limit of objects was reached, so that there may be others.
  bool most_objects = false;
  // Of the sessions that it used.
  size_t arena_bytes = 0;
  size_t scratch_bytes = 0;
};

// Names of the stages that run the networks; the others are plain code.
inline constexpr const char* kImageStage = "image network";
inline constexpr const char* kBoxStage = "box head";
inline constexpr const char* kMaskStage = "mask head";

}  // namespace vig
