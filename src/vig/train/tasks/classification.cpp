#include "vig/train/tasks/classification.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/data/image_list.h"
#include "vig/image/preprocess.h"
#include "vig/tasks/metrics.h"
#include "vig/train/tasks/class_weights.h"
#include "vig/train/tasks/dense_data.h"
#include "vig/train/tasks/labelled_data.h"
#include "vig/train/tasks/soft_cross_entropy.h"

namespace vig::train {
namespace {

at::Tensor image_tensor(float* data, int64_t count, int size) {
  return at::from_blob(data, {count, size, size, 3}, at::kFloat);
}

class ClassEvaluator : public Evaluator {
 public:
  ClassEvaluator(const TrainedModel& model, const TrainOptions& options)
      : model_(model), device_(options.device), metrics_(static_cast<int>(model.classes.size())) {
    options_.kernels = options.kernels;
  }

  void add(const Batch& batch, const std::vector<at::Tensor>& values, Workers& workers) override {
    const auto count = static_cast<int64_t>(batch.samples.size());
    const auto classes = static_cast<int64_t>(metrics_.classes);
    const at::Tensor images = image_tensor(batch.data, count, model_.width);
    at::Tensor logits = at::empty({count, classes}, at::kFloat);
    workers.parts(count, 1, [&](int64_t first, int64_t last) {
      at::NoGradGuard no_grad;
      const at::Tensor own = images.narrow(0, first, last - first).to(device_);
      logits.narrow(0, first, last - first)
          .copy_(forward_logits(model_.graph(), values, own, options_));
    });
    if (!logits.isfinite().all().item<bool>()) {
      fail(
          "the scores of validation images are not finite; the last good checkpoint stays (a "
          "lower --lr may help)");
    }
    for (int64_t i = 0; i < count; ++i) {
      metrics_.add({logits.data_ptr<float>() + i * classes, static_cast<size_t>(classes)},
                   target_of<int>(batch.items[static_cast<size_t>(i)]));
    }
  }

  std::vector<double> figures(Group& group) override {
    // Four sums, then the images of each class and how many of them were recognised.
    std::vector<double> sums = {static_cast<double>(metrics_.count),
                                static_cast<double>(metrics_.top1_hits),
                                static_cast<double>(metrics_.top5_hits), metrics_.loss_sum};
    const std::vector<ClassMetrics> per_class = metrics_.per_class();
    for (const ClassMetrics& c : per_class) sums.push_back(static_cast<double>(c.count));
    for (const ClassMetrics& c : per_class) sums.push_back(static_cast<double>(c.correct));
    group.sum(sums);
    const std::span<const double> by_class = std::span(sums).subspan(4);
    return {
        sums[3] / sums[0], sums[1] / sums[0], sums[2] / sums[0],
        balanced_accuracy(by_class.first(per_class.size()), by_class.subspan(per_class.size()))};
  }

 private:
  const TrainedModel& model_;
  const at::Device device_;
  ForwardOptions options_;
  ClassificationMetrics metrics_;
};

std::vector<std::vector<size_t>> samples_by_class(const Dataset& dataset) {
  std::vector<std::vector<size_t>> groups(dataset.classes().size());
  for (size_t i = 0; i < dataset.size(); ++i) {
    groups[static_cast<size_t>(dataset.label(i))].push_back(i);
  }
  return groups;
}

class Classification : public Task {
 public:
  Classification(const TrainOptions& options, const std::string& path, int processes)
      : options_(options),
        images_(open_labelled_data(path, options, processes)),
        model_(make_trained_model(options, images_.train.classes())),
        best_by_(images_.val.has_value() ? choose_best_by(*images_.val) : BestBy::kTop1),
        columns_(classification_columns(best_by_)) {
    data_.train = std::make_shared<const Dataset>(images_.train);
    data_.train_mark = listing_mark(images_.train);
    data_.shards = images_.train.shards();
    data_.ignored = images_.ignored;
    const std::vector<float> weights = image_weights(options, class_counts(images_.train));
    if (!weights.empty()) weights_ = at::tensor(weights);
    if (options.sampling == "balanced") data_.groups = samples_by_class(images_.train);
    if (images_.val.has_value()) {
      data_.val = std::make_shared<const Dataset>(*images_.val);
      data_.val_mark = listing_mark(*images_.val);
      if (images_.held_out) data_.held_out = image_list_text(*images_.val);
      inverse_count_ = inverse_image_count(best_by_, class_counts(*images_.val));
    }
  }

  const TaskData& data() const override { return data_; }
  TrainedModel& model() override { return model_; }
  const Columns& columns() const override { return columns_; }

  TaskSummary summary() const override {
    TaskSummary summary;
    summary.subject = fmt::format("{} classes", model_.classes.size());
    summary.columns = columns_;
    summary.warnings = report_sentences(images_.report);
    if (!images_.val.has_value()) return summary;
    const std::vector<int64_t> counts = class_counts(*images_.val);
    std::vector<std::string> unvalidated;
    for (size_t c = 0; c < counts.size(); ++c) {
      if (counts[c] == 0) unvalidated.push_back(model_.classes[c]);
    }
    if (!unvalidated.empty()) {
      summary.warnings.push_back(
          fmt::format("no image to validate on for {}: a class needs two images for that",
                      printable_list(unvalidated, 20)));
    }
    if (balanced()) {
      summary.notes.push_back(
          fmt::format("classes have {} to {} images to validate on: the best network is chosen "
                      "by balanced accuracy, the mean of the classes' recalls",
                      *std::ranges::min_element(counts), *std::ranges::max_element(counts)));
    }
    return summary;
  }

  size_t image_floats() const override {
    return static_cast<size_t>(model_.width) * static_cast<size_t>(model_.width) * 3;
  }
  void write_training(const Image& image, Target&, const RandomStream& stream,
                      float* out) const override {
    augment(image, model_.spec.recipe, options_.augment, stream, out);
  }
  void write_validation(const Image& image, Target&, float* out) const override {
    preprocess(image, model_.spec.recipe, out);
  }

  StepBatch prepare(Batch& batch, const RandomStream& stream) const override {
    std::vector<int> labels;
    for (const Sample& sample : batch.items) labels.push_back(target_of<int>(sample));
    const auto count = static_cast<int64_t>(labels.size());
    const auto classes = static_cast<int64_t>(model_.classes.size());
    at::Tensor targets = at::empty({count, classes}, at::kFloat);
    mixup_batch(options_.mix, stream.fork("mix"), labels, model_.width, static_cast<int>(classes),
                batch.data, targets.data_ptr<float>());
    return {image_tensor(batch.data, count, model_.width), {targets}};
  }

  at::Tensor loss(const ShardPass& pass, std::span<double> sums) const override {
    const at::Tensor logits =
        forward_logits(model_.graph(), pass.values, pass.images, pass.options);
    const at::Tensor expected =
        pass.targets[0].narrow(0, pass.first, logits.size(0)).to(logits.device());
    sums[kTrainTop1] += logits.argmax(1).eq(expected.argmax(1)).sum().item<double>();
    return soft_cross_entropy(logits, expected, weights_);
  }

  std::unique_ptr<Evaluator> new_evaluator() const override {
    return std::make_unique<ClassEvaluator>(model_, options_);
  }
  std::string best_by() const override { return balanced() ? "balanced accuracy" : "top-1"; }
  size_t best_column() const override { return balanced() ? kValBalanced : kValTop1; }
  // On a tie the smaller loss decides.
  bool better(std::span<const double> a, std::span<const double> b) const override {
    const size_t column = best_column();
    return a[column] > b[column] || (a[column] == b[column] && a[kValLoss] < b[kValLoss]);
  }
  double best_error(std::span<const double> figures) const override {
    const double share = figures[best_column()];
    return std::sqrt(share * (1 - share) * inverse_count_);
  }
  std::string best_label(std::span<const double> figures) const override {
    return fmt::format("{:.2f} %{}", 100 * figures[best_column()], balanced() ? " balanced" : "");
  }
  std::string best_sentence(std::span<const double> figures) const override {
    const std::string top1 =
        fmt::format("{:.2f} % of the validation images", 100 * figures[kValTop1]);
    if (!balanced()) return top1;
    return fmt::format("{:.2f} % balanced accuracy ({})", 100 * figures[kValBalanced], top1);
  }
  std::string loss_note() const override {
    return classification_loss_note(options_, model_.drop_path);
  }

 private:
  bool balanced() const { return best_by_ == BestBy::kBalanced; }

  const TrainOptions options_;
  const LabelledData images_;
  TrainedModel model_;
  const BestBy best_by_;
  const Columns columns_;
  double inverse_count_ = 0;
  at::Tensor weights_;  // of the classes in the loss; undefined: all are 1
  TaskData data_;
};

}  // namespace

std::unique_ptr<Task> open_classification(const TrainOptions& options, const std::string& data,
                                          int processes) {
  return std::make_unique<Classification>(options, data, processes);
}

BestBy choose_best_by(const Dataset& validation) {
  const std::vector<int64_t> counts = class_counts(validation);
  const bool even =
      std::ranges::all_of(counts, [&](int64_t count) { return count == counts.front(); });
  return even ? BestBy::kTop1 : BestBy::kBalanced;
}

double inverse_image_count(BestBy best_by, std::span<const int64_t> counts) {
  double images = 0, inverses = 0, classes = 0;
  for (const int64_t count : counts) {
    if (count == 0) continue;
    images += static_cast<double>(count);
    inverses += 1 / static_cast<double>(count);
    ++classes;
  }
  return best_by == BestBy::kTop1 ? 1 / images : inverses / (classes * classes);
}

Columns classification_columns(BestBy best_by) {
  const std::string panel = "accuracy (%)";
  Columns columns;
  columns.train = {{"train_top1", "top-1", panel, "training, top-1", true, false}};
  columns.val = {{"val_loss", "val loss", "loss", "validation", false, false},
                 {"val_top1", "val top-1", panel, "validation, top-1", true, true},
                 {"val_top5", "", "", "", true, false},
                 {"val_balanced", "", "", "", true, false}};
  if (best_by == BestBy::kBalanced) {
    columns.val[kValBalanced] = {"val_balanced",         "val balanced", panel,
                                 "validation, balanced", true,           true};
  }
  return columns;
}

std::vector<int64_t> class_counts(const Dataset& dataset) {
  std::vector<int64_t> counts(dataset.classes().size());
  for (size_t i = 0; i < dataset.size(); ++i) ++counts[static_cast<size_t>(dataset.label(i))];
  return counts;
}

double balanced_accuracy(std::span<const double> images, std::span<const double> correct) {
  double sum = 0, classes = 0;
  for (size_t c = 0; c < images.size(); ++c) {
    if (images[c] == 0) continue;
    sum += correct[c] / images[c];
    ++classes;
  }
  return classes == 0 ? kNotMeasured : sum / classes;
}

std::string classification_loss_note(const TrainOptions& options, double drop_path) {
  const AugmentOptions& augment = options.augment;
  std::vector<std::string> on;
  const auto add = [&](bool is_on, std::string what) {
    if (is_on) on.push_back(std::move(what));
  };
  add(options.mix.smoothing > 0, fmt::format("label smoothing {}", options.mix.smoothing));
  const bool mixes = options.mix.probability > 0;
  add(mixes && options.mix.mixup > 0, "mixup");
  add(mixes && options.mix.cutmix > 0, "CutMix");
  add(options.class_weights != "none", "class weights");
  add(drop_path > 0, fmt::format("drop path {:.4g}", drop_path));
  add(augment.crop != AugmentOptions::Crop::kCenter, "random crops");
  add(augment.flip > 0, "mirroring");
  add(augment.rand_augment_ops > 0, "RandAugment");
  add(augment.color_jitter > 0, "colour jitter");
  add(augment.erase > 0, "random erasing");
  add(augment.cutout > 0, "cutout");
  if (on.empty()) return "";
  return fmt::format(
      "The training loss may well lie above the validation loss: only training has {}{}.",
      fmt::join(on, ", "), options.ema > 0 ? ", and only validation uses averaged weights" : "");
}

}  // namespace vig::train
