#include "vig/train/tasks/detection_evaluator.h"

#include "vig/tasks/coco_metrics.h"
#include "vig/tasks/detect_boxes.h"
#include "vig/tasks/paste_mask.h"
#include "vig/train/tasks/detector_pass.h"

namespace vig::train {
namespace {

// [boxes, 5] of the one image there is.
at::Tensor roi_tensor(std::span<const Box> boxes) {
  BoxSamples samples;
  samples.boxes.assign(boxes.begin(), boxes.end());
  samples.images.assign(boxes.size(), 0);
  return samples.rois();
}

std::span<const float> values_of(const at::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

std::vector<CocoTruth> truths_of(const Objects& objects) {
  std::vector<CocoTruth> truths;
  for (const Object& object : objects.objects) {
    truths.push_back({CocoBox(object.box), object.label, object.crowd, object.area, object.mask});
  }
  return truths;
}

// The metrics of all processes: each puts its values at an offset of its own into a list of zeros.
void share(CocoMetrics& metrics, Group& group) {
  if (group.size() == 1) return;
  const std::vector<double> own = metrics.packed();
  const auto ranks = static_cast<size_t>(group.size()), rank = static_cast<size_t>(group.rank());
  std::vector<double> sizes(ranks);
  sizes[rank] = static_cast<double>(own.size());
  group.sum(sizes);
  std::vector<size_t> begins(1);
  for (const double size : sizes) begins.push_back(begins.back() + static_cast<size_t>(size));
  std::vector<double> all(begins.back());
  std::ranges::copy(own, all.begin() + static_cast<std::ptrdiff_t>(begins[rank]));
  group.sum(all);
  for (size_t i = 0; i < ranks; ++i) {
    if (i == rank) continue;
    metrics.merge_packed(std::span(all).subspan(begins[i], begins[i + 1] - begins[i]));
  }
}

class DetectionEvaluator : public Evaluator {
 public:
  DetectionEvaluator(const TrainedModel& model, const TrainOptions& options)
      : model_(model),
        device_(options.device),
        graphs_(model.spec),
        boxes_(static_cast<int>(model.classes.size()), CocoShape::kBox),
        masks_(static_cast<int>(model.classes.size()), CocoShape::kMask) {
    options_.kernels = options.kernels;
  }

  void add(const Batch& batch, const std::vector<at::Tensor>& values, Workers& workers) override {
    const auto count = static_cast<int64_t>(batch.items.size());
    std::vector<Detections> found(batch.items.size());
    workers.parts(count, 1, [&](int64_t first, int64_t last) {
      at::NoGradGuard no_grad;
      for (int64_t i = first; i < last; ++i) {
        const auto index = static_cast<size_t>(i);
        ValidationImage image = validation_image(batch.items[index]);
        image.input = image.input.to(device_);
        const auto graph = graphs_.at(image.input.size(1), image.input.size(2));
        found[index] = detect(model_, *graph, values, image, options_);
      }
    });
    for (size_t i = 0; i < found.size(); ++i) {
      const auto& objects = truth_of<Objects>(batch.items[i]);
      std::vector<CocoTruth> truths = truths_of(objects);
      std::vector<CocoDetection> detections;
      for (Detection& detection : found[i]) {
        detections.push_back(
            {CocoBox(detection.box), detection.label, detection.score, std::move(detection.mask)});
      }
      boxes_.add(objects.image, truths, detections);
      std::erase_if(truths, [](const CocoTruth& truth) { return truth.mask.runs.empty(); });
      masks_.add(objects.image, truths, detections);
    }
  }

  std::vector<double> figures(Group& group) override {
    share(boxes_, group);
    share(masks_, group);
    const CocoFigures boxes = boxes_.figures(), masks = masks_.figures();
    return {boxes.ap, boxes.ap50, masks.ap, masks.ap50};
  }

 private:
  const TrainedModel& model_;
  const at::Device device_;
  ForwardOptions options_;
  SizedGraphs graphs_;
  CocoMetrics boxes_, masks_;
};

}  // namespace

std::unique_ptr<Evaluator> make_detection_evaluator(const TrainedModel& model,
                                                    const TrainOptions& options) {
  return std::make_unique<DetectionEvaluator>(model, options);
}

Detections detect(const TrainedModel& model, const Graph& graph,
                  const std::vector<at::Tensor>& values, const ValidationImage& image,
                  const ForwardOptions& options) {
  const DetectorConfig& config = *model.spec.config->detector();
  const Placement& placement = image.placement;
  const DetectorPass pass(model, graph, values, options);
  const DetectorMaps maps = pass.maps(image.input);
  std::vector<Box> proposals;
  for (const Proposal& proposal : pass.proposals(maps, 0, config.proposals_per_level,
                                                 static_cast<int>(placement.resized_width),
                                                 static_cast<int>(placement.resized_height))) {
    proposals.push_back(proposal.box);
  }
  if (proposals.empty()) return {};
  const BoxOutputs outputs = pass.boxes(maps, roi_tensor(proposals));
  const at::Tensor logits = outputs.logits.to(at::kCPU).contiguous();
  const at::Tensor deltas = outputs.deltas.to(at::kCPU).contiguous();
  const std::vector<ScoredBox> chosen =
      detect_boxes(proposals, values_of(logits), values_of(deltas),
                   static_cast<int>(model.classes.size()), config, placement);
  if (chosen.empty()) return {};
  std::vector<Box> inputs;
  for (const ScoredBox& found : chosen) {
    inputs.push_back({static_cast<float>(placement.input_x(found.box.x1)),
                      static_cast<float>(placement.input_y(found.box.y1)),
                      static_cast<float>(placement.input_x(found.box.x2)),
                      static_cast<float>(placement.input_y(found.box.y2))});
  }
  const at::Tensor masks = pass.masks(maps, roi_tensor(inputs)).sigmoid().to(at::kCPU);
  Detections detections;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const at::Tensor mask = masks[static_cast<int64_t>(i)].select(2, chosen[i].label).contiguous();
    detections.push_back({chosen[i].box, chosen[i].label, chosen[i].score,
                          paste_mask(values_of(mask), static_cast<int>(mask.size(0)), chosen[i].box,
                                     placement.source_width, placement.source_height)});
  }
  return detections;
}

}  // namespace vig::train
