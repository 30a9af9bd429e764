// Images to objects with boxes and masks.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vig/data/image_files.h"
#include "vig/pipeline/image_results.h"
#include "vig/pipeline/runner.h"
#include "vig/tasks/detect_boxes.h"
#include "vig/tasks/detection.h"
#include "vig/tasks/proposals.h"
#include "vig/tasks/roi_features.h"

namespace vig {

using DetectedImage = ImageResult<Detections>;

// What objects must be above that are shown to people, unless they say another score.
inline constexpr double kShownScore = 0.3;

struct DetectOptions {
  float score = -1;              // least score of a detection; below 0: as the model says
  std::vector<int> labels = {};  // classes to detect; empty: all
};

// The trace of one detection, for benchmarks and tests.
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

// Leaves out objects whose score is not above this. Where one is left out the limit of objects cut
// off none with a higher score, and its warning goes as well.
void keep_above(float score, DetectedImage& image);

// Names of the stages that run the networks; the others are plain code.
inline constexpr const char* kImageStage = "image network";
inline constexpr const char* kBoxStage = "box head";
inline constexpr const char* kMaskStage = "mask head";

// For any number of threads, as a Runner is.
class Detector {
 public:
  explicit Detector(const ModelSource& source, const RunOptions& options = {},
                    const DetectOptions& detect = {});

  const Runner& runner() const { return runner_; }
  const DetectorConfig& config() const { return config_; }

  // The objects of an image, best first, in the image as it is stored. Throws Error where the
  // network's outputs are not finite. Fills the trace, where one is given.
  Detections detect(const RunImage& image, DetectTrace* trace = nullptr) const;

  // One result per image, in order.
  std::vector<DetectedImage> detect(const SampleSource& images) const;
  // Hands them out, each with its sample. `order`: of the images; empty: as they stand. False when
  // `handle` ended the work before the last one.
  bool detect(const SampleSource& images, const HandleResults<Detections>& handle,
              const std::vector<size_t>& order = {}) const;

 private:
  using Levels = std::vector<PyramidLevel>;

  class Watch;  // fills a trace

  void check_graphs() const;
  std::vector<Proposal> find_boxes(const Session& image, const Placement& placement) const;
  std::vector<ScoredBox> classify_boxes(const Levels& levels, const std::vector<Box>& proposals,
                                        const Placement& placement, Watch& watch) const;
  Detections add_masks(const Levels& levels, const std::vector<ScoredBox>& boxes,
                       const Placement& placement, Watch& watch) const;
  // Features of `count` boxes from `first` on, side by side, as the inputs of a head.
  void fill_features(const Levels& levels, const std::vector<Box>& boxes, size_t first,
                     size_t count, int side, Session& head) const;
  // The masks of `count` boxes from `first` on, from the logits of the head.
  void paste_masks(const std::vector<ScoredBox>& boxes, size_t first, size_t count,
                   const Session& head, const Placement& placement, Detections& detections) const;

  Runner runner_;
  DetectorConfig config_;
  std::vector<bool> wanted_;  // by class
  std::unique_ptr<SessionPool> box_heads_, mask_heads_;
};

}  // namespace vig
