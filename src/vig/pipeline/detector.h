// Images to objects with boxes and masks.
#pragma once

#include <memory>
#include <vector>

#include "vig/pipeline/pipeline.h"
#include "vig/tasks/results.h"

namespace vig {

class Runner;
struct DetectorConfig;
struct DetectTrace;
struct ModelSource;
struct RunImage;

using DetectedImage = ImageResult<Detections>;

// What objects must be above that are shown to people, unless they say another score.
inline constexpr double kShownScore = 0.3;

// Share of their side that neighbouring windows of a large image overlap by.
inline constexpr double kDetectOverlap = 0.25;

struct DetectOptions {
  float score = -1;              // least score of a detection; below 0: as the model says
  std::vector<int> labels = {};  // classes to detect; empty: all
};

// Leaves out objects whose score is not above this. Where one is left out the limit of objects cut
// off none with a higher score, and its warning goes as well.
void keep_above(float score, DetectedImage& image);

// For any number of threads.
class Detector {
 public:
  // Throws everything that can be wrong with the model.
  explicit Detector(const ModelRequest& model, const RunOptions& options = {},
                    const DetectOptions& detect = {});
  // Of a model that is found already.
  explicit Detector(const ModelSource& source, const RunOptions& options = {},
                    const DetectOptions& detect = {});

  const Runner& runner() const;
  const DetectorConfig& config() const;

  // One result per image, in order.
  std::vector<DetectedImage> detect(const SampleSource& images) const;
  // Hands them out, each with its sample. `order`: of the images; empty: as they stand. False when
  // `handle` ended the work before the last one.
  bool detect(const SampleSource& images, const HandleResults<Detections>& handle,
              const std::vector<size_t>& order = {}) const;

  // The objects of one image on its way through the runner, best first, in the image as it is
  // stored. Throws Error where the network's outputs are not finite. Fills the trace
  // (detect_trace.h), where one is given.
  Detections detect(const RunImage& image, DetectTrace* trace = nullptr) const;

 private:
  class Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace vig
