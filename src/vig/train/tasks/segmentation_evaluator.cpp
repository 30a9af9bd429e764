#include "vig/train/tasks/segmentation_evaluator.h"

#include "vig/base/error.h"
#include "vig/base/thread_pool.h"
#include "vig/data/view.h"
#include "vig/tasks/label_pixels.h"
#include "vig/tasks/segmentation_metrics.h"
#include "vig/tasks/windows.h"
#include "vig/train/tasks/pixel_loss.h"
#include "vig/train/tasks/validation_image.h"

namespace vig::train {
namespace {

struct Result {
  LabelMap labels;
  double loss = 0;  // mean over all pixels
};

class SegmentationEvaluator : public Evaluator {
 public:
  SegmentationEvaluator(const TrainedModel& model, const TrainOptions& options)
      : model_(model),
        device_(options.device),
        graphs_(model.spec),
        metrics_(static_cast<int>(model.classes.size())) {
    options_.kernels = options.kernels;
  }

  void add(const Batch& batch, const std::vector<at::Tensor>& values, Workers& workers) override {
    const auto count = static_cast<int64_t>(batch.items.size());
    std::vector<Result> results(batch.items.size());
    workers.parts(count, 1, [&](int64_t first, int64_t last) {
      at::NoGradGuard no_grad;
      for (int64_t i = first; i < last; ++i) {
        const auto index = static_cast<size_t>(i);
        results[index] = evaluate_image(batch.items[index], values);
      }
    });
    for (size_t i = 0; i < results.size(); ++i) {
      metrics_.add(results[i].labels, truth_of<LabelMap>(batch.items[i]));
      loss_ += results[i].loss;
    }
  }

  std::vector<double> figures(Group& group) override {
    std::vector<double> sums = metrics_.sums();
    sums.push_back(loss_);
    group.sum(sums);
    const double loss = sums.back();
    sums.pop_back();
    SegmentationMetrics all(metrics_.classes());
    all.set_sums(sums);
    return {loss / static_cast<double>(all.images()), all.mean_iou(), all.pixel_accuracy()};
  }

 private:
  Result evaluate_image(const Sample& sample, const std::vector<at::Tensor>& values) {
    const ValidationImage image = validation_image(sample);
    const Recipe& recipe = model_.spec.recipe;
    const Placement& placement = image.placement;
    const int width = placement.input_width, height = placement.input_height;
    const int classes = metrics_.classes();
    const View whole{
        {placement.source_width, placement.source_height}, {width, height}, {0, 0, width, height}};
    LabelMap truth = whole.labels(truth_of<LabelMap>(sample));
    const at::Tensor labels = at::from_blob(truth.labels.data(), {1, height, width}, at::kByte);
    std::vector<WindowLogits> parts;
    double loss = 0, pixels = 0;
    for (const InputWindow& window :
         sliding_windows(width, height, recipe.crop, recipe.window_stride)) {
      const at::Tensor input =
          image.input.narrow(1, window.y, window.height).narrow(2, window.x, window.width);
      const std::shared_ptr<const Graph> graph = graphs_.at(window.height, window.width);
      const int node = graph->find_output("logits");
      if (node < 0) fail("[train] the network has no output \"logits\"");
      const at::Tensor logits = forward(*graph, values, {input.contiguous().to(device_)},
                                        options_)[static_cast<size_t>(node)]
                                    .to(at::kCPU)
                                    .contiguous();
      const at::Tensor part =
          labels.narrow(1, window.y, window.height).narrow(2, window.x, window.width);
      const double share = static_cast<double>(part.numel());
      loss += share * pixel_cross_entropy(logits, part).loss.item<double>();
      pixels += share;
      const float* first = logits.data_ptr<float>();
      parts.push_back({window,
                       static_cast<int>(logits.size(1)),
                       static_cast<int>(logits.size(2)),
                       {first, first + logits.numel()}});
    }
    ThreadPool alone(1);
    const LogitField field(width, height, classes, std::move(parts));
    return {
        label_pixels(field, placement.source_width, placement.source_height, false, alone).labels,
        loss / pixels};
  }

  const TrainedModel& model_;
  const at::Device device_;
  ForwardOptions options_;
  SizedGraphs graphs_;
  SegmentationMetrics metrics_;
  double loss_ = 0;
};

}  // namespace

std::unique_ptr<Evaluator> make_segmentation_evaluator(const TrainedModel& model,
                                                       const TrainOptions& options) {
  return std::make_unique<SegmentationEvaluator>(model, options);
}

}  // namespace vig::train
