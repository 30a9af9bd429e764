#include "vig/pipeline/evaluate_dense.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "vig/base/error.h"
#include "vig/data/data_report.h"
#include "vig/data/order.h"
#include "vig/data/target.h"
#include "vig/pipeline/evaluate.h"

namespace vig {
namespace {

// Counts what every evaluation counts; `add` counts a prediction and gives its score, or throws
// Error and counts nothing.
template <class Prediction, class Run, class Add>
void count(const SampleSource& data, const DenseEvaluateOptions& options, DenseRun& result,
           const Run& run, const Add& add) {
  const auto count_one = [&](const ImageResult<Prediction>& image) {
    std::string problem = image.error;
    if (problem.empty()) {
      try {
        const double score = add(image);
        ++result.images;
        if (options.on_score) options.on_score(image.index, score);
      } catch (const Error& error) {
        problem = fmt::format("{}: {}", data.location(image.index), error.what());
      }
    }
    if (problem.empty()) return;
    ++result.skipped;
    if (options.on_problem) options.on_problem(image.index, problem);
  };
  const HandleResults<Prediction> handle = [&](std::span<const ImageResult<Prediction>> batch) {
    for (const ImageResult<Prediction>& image : batch) count_one(image);
    return !options.on_done || options.on_done();
  };
  const auto start = std::chrono::steady_clock::now();
  // In random order, so that a partial result is representative.
  result.complete = run(handle, epoch_order(data.size(), 0, 0));
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<CocoDetection> coco_detections(const Detections& detections) {
  std::vector<CocoDetection> all;
  for (const Detection& one : detections) {
    all.push_back({CocoBox(one.box), one.label, one.score, one.mask});
  }
  return all;
}

}  // namespace

ModelTask task_of_data(const std::string& path) {
  switch (recognise_data(path)) {
    case DataKind::kLabelPairs:
      return ModelTask::kSegment;
    case DataKind::kCoco:
      return ModelTask::kDetect;
    case DataKind::kClasses:
      break;
  }
  return ModelTask::kClassify;
}

LabelMap matched_labels(LabelMap truth, const std::vector<int>& output_of) {
  std::array<uint8_t, 256> table;
  table.fill(kNoLabel);
  for (size_t i = 0; i < output_of.size(); ++i) table[i] = static_cast<uint8_t>(output_of[i]);
  for (uint8_t& label : truth.labels) label = table[label];
  return truth;
}

std::vector<CocoTruth> matched_objects(const Objects& truth, const std::vector<int>& output_of) {
  std::vector<CocoTruth> truths;
  for (const Object& one : truth.objects) {
    truths.push_back({CocoBox(one.box), output_of.at(static_cast<size_t>(one.label)), one.crowd,
                      one.area, one.mask});
  }
  return truths;
}

SegmentationEvaluation evaluate(const Segmenter& segmenter, const LabelPairs& data,
                                const DenseEvaluateOptions& options) {
  const Runner& runner = segmenter.runner();
  const int classes = model_classes(runner.spec());
  const std::vector<int> output_of = match_classes(data.classes(), classes, runner.classes());
  SegmentationEvaluation result;
  result.metrics = SegmentationMetrics(classes);
  count<Segmentation>(
      data, options, result,
      [&](const HandleResults<Segmentation>& handle, const std::vector<size_t>& order) {
        return segmenter.segment(data, handle, order);
      },
      [&](const SegmentedImage& image) {
        SegmentationMetrics one(classes);
        one.add(image.prediction.labels,
                matched_labels(target_of<LabelMap>(image.sample), output_of));
        result.metrics.merge(one);
        return one.mean_iou();
      });
  return result;
}

DetectionEvaluation evaluate(const Detector& detector, const CocoDataset& data,
                             const DenseEvaluateOptions& options) {
  const Runner& runner = detector.runner();
  const int classes = model_classes(runner.spec());
  const std::vector<int> output_of = match_classes(data.classes(), classes, runner.classes());
  DetectionEvaluation result;
  result.boxes = CocoMetrics(classes, CocoShape::kBox);
  result.masks = CocoMetrics(classes, CocoShape::kMask);
  count<Detections>(
      data, options, result,
      [&](const HandleResults<Detections>& handle, const std::vector<size_t>& order) {
        return detector.detect(data, handle, order);
      },
      [&](const DetectedImage& image) {
        const auto& objects = target_of<Objects>(image.sample);
        const std::vector<CocoTruth> truths = matched_objects(objects, output_of);
        const std::vector<CocoDetection> detections = coco_detections(image.prediction);
        CocoMetrics one(classes, CocoShape::kBox);
        one.add(objects.image, truths, detections);
        result.has_masks = result.has_masks && std::ranges::all_of(truths, [](const auto& truth) {
                             return truth.mask.width > 0;
                           });
        if (result.has_masks) {
          CocoMetrics masks(classes, CocoShape::kMask);
          masks.add(objects.image, truths, detections);
          result.masks.merge(masks);
        }
        result.boxes.merge(one);
        return one.figures().ap;
      });
  return result;
}

}  // namespace vig
