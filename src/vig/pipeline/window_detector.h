// The objects of an image of any size, found in windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "vig/pipeline/detector.h"
#include "vig/pipeline/region_windows.h"
#include "vig/tasks/merge_objects.h"

namespace vig {

struct DetectSteps {
  // After each row of windows: the objects that no further row can show, and in how many of its
  // windows the model's limit of objects was reached.
  std::function<void(size_t row, std::vector<LargeObject> finished, int64_t full_windows)> on_row;
  // After each window; false ends the work.
  std::function<bool(size_t windows)> on_windows = {};
};

// Each window is an image of its own for the detector; `merger` makes one object of those that
// several windows show. The rows of windows above `first_row` are left out, whose objects the
// merger holds. Objects are in pixels of the plan's region. False when on_windows ended the work.
bool detect_windows(const Detector& detector, RegionWindows& image, ObjectMerger& merger,
                    const DetectSteps& steps, size_t first_row = 0);

}  // namespace vig
