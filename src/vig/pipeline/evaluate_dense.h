// Labelled images through a segmentation network or a detector, counted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "vig/data/coco.h"
#include "vig/data/label_pairs.h"
#include "vig/pipeline/detector.h"
#include "vig/pipeline/segmenter.h"
#include "vig/tasks/coco_metrics.h"
#include "vig/tasks/segmentation_metrics.h"

namespace vig {

// The task that the labels of this data are for.
ModelTask task_of_data(const std::string& path);

struct DenseEvaluateOptions {
  // A sample without a result, because its files or the network's outputs are invalid.
  std::function<void(size_t sample, const std::string& sentence)> on_problem = {};
  // A sample that has one, and how good it is by itself: the mean IoU of the classes that it shows
  // or that are predicted, or the AP of its boxes; NaN where there is nothing to find.
  std::function<void(size_t sample, double score)> on_score = {};
  // After each sample; false ends the evaluation early.
  std::function<bool()> on_done = {};
};

struct DenseRun {
  int64_t images = 0;
  int64_t skipped = 0;  // samples without a result
  double seconds = 0;   // decoding included
  bool complete = true;

  double images_per_second() const {
    return seconds > 0 ? static_cast<double>(images) / seconds : 0;
  }
};

struct SegmentationEvaluation : DenseRun {
  SegmentationMetrics metrics;  // over the model's classes
};

struct DetectionEvaluation : DenseRun {
  CocoMetrics boxes, masks;
  bool has_masks = true;  // false: an object has none, so that the masks say nothing
};

// Samples come in a mixed order. The results do not depend on threads. Throws when the classes do
// not match (match_classes).
SegmentationEvaluation evaluate(const Segmenter& segmenter, const LabelPairs& data,
                                const DenseEvaluateOptions& options = {});
DetectionEvaluation evaluate(const Detector& detector, const CocoDataset& data,
                             const DenseEvaluateOptions& options = {});

// The truth of a sample among the model's classes, whose indices match_classes gives.
LabelMap matched_labels(LabelMap truth, const std::vector<int>& output_of);
std::vector<CocoTruth> matched_objects(const Objects& truth, const std::vector<int>& output_of);

}  // namespace vig
