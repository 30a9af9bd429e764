#include "vig/pipeline/window_detector.h"

#include <limits>

#include "vig/pipeline/detect_trace.h"

namespace vig {

bool detect_windows(const Detector& detector, RegionWindows& image, ObjectMerger& merger,
                    const DetectSteps& steps, size_t first_row) {
  const auto& rows = image.rows();
  for (size_t i = first_row; i < rows.size(); ++i) {
    image.load(rows[i]);
    int64_t full = 0;
    for (const InputWindow& window : rows[i]) {
      const RunImage shown = image.image(window);
      if (!image.skips(shown)) {
        DetectTrace trace;
        merger.add(window, detector.detect(shown, &trace));
        full += trace.most_objects;
      }
      if (steps.on_windows && !steps.on_windows(1)) return false;
    }
    const bool last = i + 1 == rows.size();
    steps.on_row(i,
                 merger.take_above(last ? std::numeric_limits<int64_t>::max()
                                        : int64_t{rows[i + 1].front().y}),
                 full);
  }
  return true;
}

}  // namespace vig
