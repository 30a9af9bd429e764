#include "vig/train/tasks/segmentation.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/data/augment_labels.h"
#include "vig/tasks/overlay.h"
#include "vig/train/preview.h"
#include "vig/train/tasks/class_weights.h"
#include "vig/train/tasks/dense_data.h"
#include "vig/train/tasks/pixel_loss.h"
#include "vig/train/tasks/segmentation_evaluator.h"
#include "vig/train/tasks/validation_image.h"

namespace vig::train {
namespace {

TrainedModel make_segmenter(const TrainOptions& options, const std::vector<std::string>& classes) {
  const ModelPlan plan = plan_model(options, classes, ModelTask::kSegment);
  const Recipe& recipe = plan.spec.recipe;
  if (recipe.crop % recipe.multiple != 0) {
    fail_usage("--size is {}, expected a multiple of {} for {}", recipe.crop, recipe.multiple,
               plan.spec.name);
  }
  return make_trained_model(options, plan, recipe.crop, recipe.crop);
}

Columns segmentation_columns() {
  const std::string panel = "mIoU and pixels (%)";
  Columns columns;
  columns.train = {{"train_pixels", "pixels", panel, "training, pixels", true, false}};
  columns.val = {
      {"val_loss", "val loss", "loss", "validation", false, false},
      {"val_miou", "val mIoU", panel, "validation, mIoU", true, true},
      {"val_pixels", "val pixels", panel, "validation, pixels", true, true},
  };
  return columns;
}

ViewOptions view_options(const TrainOptions& options) {
  ViewOptions view = options.view;
  view.flip = options.augment.flip;
  return view;
}

class SegmentationTask : public Task {
 public:
  SegmentationTask(const TrainOptions& options, const std::string& path, int processes)
      : options_(options),
        view_(view_options(options)),
        images_(open_segmentation_data(path, options, processes)),
        model_(make_segmenter(options, images_.train.classes())),
        columns_(segmentation_columns()),
        data_(task_data(images_)) {
    const std::vector<float> weights = pixel_weights(options, images_.train);
    if (!weights.empty()) weights_ = at::tensor(weights);
    data_.smallest_scale = smallest_scale(images_.train, model_.spec.recipe, view_);
  }

  const TaskData& data() const override { return data_; }
  TrainedModel& model() override { return model_; }
  const Columns& columns() const override { return columns_; }

  TaskSummary summary() const override {
    TaskSummary summary;
    summary.subject = fmt::format("{} classes of pixels", model_.classes.size());
    summary.columns = columns_;
    summary.warnings = report_sentences(images_.report);
    return summary;
  }

  size_t image_floats() const override {
    return static_cast<size_t>(model_.height) * static_cast<size_t>(model_.width) * 3;
  }
  void write_training(const Image& image, Target& target, const RandomStream& stream,
                      float* out) const override {
    target =
        augment_labels(image, std::get<LabelMap>(target), model_.spec.recipe, view_, stream, out);
  }
  void write_validation(const Image& image, Target& target, float*) const override {
    frame_validation(image, model_.spec.recipe, target);
  }
  Image drawn(const float* image, const Target& target) const override {
    return draw_segmentation(input_image(image, model_), std::get<LabelMap>(target),
                             model_.classes);
  }

  StepBatch prepare(Batch& batch, const RandomStream&) const override {
    const auto count = static_cast<int64_t>(batch.items.size());
    at::Tensor labels = at::empty({count, model_.height, model_.width}, at::kByte);
    for (int64_t i = 0; i < count; ++i) {
      const auto& map = target_of<LabelMap>(batch.items[static_cast<size_t>(i)]);
      std::ranges::copy(map.labels, labels[i].data_ptr<uint8_t>());
    }
    return {at::from_blob(batch.data, {count, model_.height, model_.width, 3}, at::kFloat),
            {labels}};
  }

  at::Tensor loss(const ShardPass& pass, std::span<double> sums) const override {
    const HeadLogits logits = segmentation_logits(model_, pass.values, pass.images, pass.options);
    const at::Tensor labels = pass.targets[0].narrow(0, pass.first, pass.images.size(0));
    const PixelLoss main = pixel_cross_entropy(logits.main, labels, weights_);
    for (const PixelCounts& image : main.images) {
      sums[kTrainPixels] += image.right / std::max(image.labelled, 1.0);
    }
    if (!logits.auxiliary.defined()) return main.loss;
    return main.loss +
           kAuxiliaryWeight * pixel_cross_entropy(logits.auxiliary, labels, weights_).loss;
  }

  std::unique_ptr<Evaluator> new_evaluator() const override {
    return make_segmentation_evaluator(model_, options_);
  }
  std::string best_by() const override { return "mIoU"; }
  size_t best_column() const override { return kMeanIou; }
  // On a tie the smaller loss decides.
  bool better(std::span<const double> a, std::span<const double> b) const override {
    return a[kMeanIou] > b[kMeanIou] ||
           (a[kMeanIou] == b[kMeanIou] && a[kPixelLoss] < b[kPixelLoss]);
  }
  std::string best_label(std::span<const double> figures) const override {
    return fmt::format("{:.2f} % mIoU", 100 * figures[kMeanIou]);
  }
  std::string best_sentence(std::span<const double> figures) const override {
    return fmt::format("{:.2f} % mIoU, {:.2f} % of the pixels", 100 * figures[kMeanIou],
                       100 * figures[kPixelAccuracy]);
  }
  std::string loss_note() const override {
    return model_.graphs.size() > 1 ? "The training loss has that of the auxiliary head in it, "
                                      "times 0.4; the validation loss has not."
                                    : "";
  }

 private:
  const TrainOptions options_;
  const ViewOptions view_;
  const SegmentationData images_;
  TrainedModel model_;
  const Columns columns_;
  TaskData data_;
  at::Tensor weights_;  // of the classes in the loss; undefined: all are 1
};

}  // namespace

HeadLogits segmentation_logits(const TrainedModel& model, const std::vector<at::Tensor>& values,
                               const at::Tensor& images, const ForwardOptions& options) {
  const Graph& graph = model.graph();
  const auto output = [](const Graph& of, const char* name) {
    const int node = of.find_output(name);
    if (node < 0) fail("[train] the network has no output \"{}\"", name);
    return static_cast<size_t>(node);
  };
  const std::vector<at::Tensor> nodes = forward(graph, values, {images}, options);
  HeadLogits logits;
  logits.main = nodes[output(graph, "logits")];
  if (model.graphs.size() < 2) return logits;
  // The auxiliary head sees the map that its input is named after.
  const Graph& head = model.graphs[1];
  const int map = graph.find_module(head.inputs.at(0).name);
  if (map < 0) fail("[train] the network has no value \"{}\"", head.inputs[0].name);
  ForwardOptions own = options;
  own.seed = mix_bits(options.seed);  // other channels are dropped than in the main head
  logits.auxiliary =
      forward(head, values, {nodes[static_cast<size_t>(map)]}, own)[output(head, "auxiliary")];
  return logits;
}

std::unique_ptr<Task> open_segmentation(const TrainOptions& options, const std::string& data,
                                        int processes) {
  return std::make_unique<SegmentationTask>(options, data, processes);
}

}  // namespace vig::train
