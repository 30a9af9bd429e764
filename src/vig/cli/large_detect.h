// vig detect of an image of any size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vig/cli/large_images.h"
#include "vig/pipeline/detector.h"

namespace vig::cli {

struct LargeDetectFiles {
  std::string lines, geojson, drawing, preview, journal;
};

struct ObjectCounts {
  int64_t objects = 0;
  std::vector<int64_t> by_label;
  int64_t full_windows = 0;  // in which the model's limit of objects was reached
};

// Objects and drawing of one image. Nothing where Ctrl-C was pressed: then the journal holds what
// was finished.
std::optional<ObjectCounts> detect_large(const Detector& detector, RegionSource& source,
                                         const WindowPlan& plan,
                                         const std::vector<std::string>& classes,
                                         const std::string& work, const LargeDetectFiles& files);

}  // namespace vig::cli
