// vig segment of an image of any size.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vig/cli/image_outputs.h"
#include "vig/cli/large_images.h"
#include "vig/pipeline/segmenter.h"

namespace vig::cli {

struct LargeSegmentFiles {
  std::string labels, overlay, preview, journal;
};

// How many pixels each label has.
using LabelCounts = std::array<int64_t, 256>;

// Labels, overlay and preview of one image. Nothing where Ctrl-C was pressed: then the journal
// holds what was finished.
std::optional<LabelCounts> segment_large(const Segmenter& segmenter, RegionSource& source,
                                         const WindowPlan& plan,
                                         const std::vector<std::string>& classes,
                                         const std::string& work, const LargeSegmentFiles& files);

}  // namespace vig::cli
