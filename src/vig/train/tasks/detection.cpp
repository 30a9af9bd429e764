#include "vig/train/tasks/detection.h"

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/tasks/overlay.h"
#include "vig/train/preview.h"
#include "vig/train/tasks/dense_data.h"
#include "vig/train/tasks/detection_evaluator.h"
#include "vig/train/tasks/detector_pass.h"
#include "vig/train/tasks/validation_image.h"

namespace vig::train {
namespace {

int padded(int side, int multiple) { return (side + multiple - 1) / multiple * multiple; }

Sides canvas_of(const CocoDataset& images, const Recipe& recipe) {
  Sides canvas;
  for (size_t i = 0; i < images.size(); ++i) {
    const Sides sides = fitted_sides(recipe, 1.0f, {images.width(i), images.height(i)});
    canvas.width = std::max(canvas.width, padded(sides.width, recipe.multiple));
    canvas.height = std::max(canvas.height, padded(sides.height, recipe.multiple));
  }
  return canvas;
}

TrainedModel make_detector(const TrainOptions& options, const CocoDataset& images) {
  const ModelPlan plan = plan_model(options, images.classes(), ModelTask::kDetect);
  const Sides canvas = canvas_of(images, plan.spec.recipe);
  return make_trained_model(options, plan, canvas.height, canvas.width);
}

Columns detection_columns() {
  const std::string losses = "losses", panel = "AP (%)";
  Columns columns;
  columns.train = {{"train_rpn_class", "", losses, "proposals: class", false, false},
                   {"train_rpn_box", "", losses, "proposals: box", false, false},
                   {"train_class", "", losses, "class", false, false},
                   {"train_box", "", losses, "box", false, false},
                   {"train_mask", "", losses, "mask", false, false}};
  columns.val = {{"val_box_ap", "box AP", panel, "boxes", true, true},
                 {"val_box_ap50", "AP50", panel, "boxes, AP50", true, true},
                 {"val_mask_ap", "mask AP", panel, "masks", true, true},
                 {"val_mask_ap50", "AP50", panel, "masks, AP50", true, true}};
  return columns;
}

bool any_mask(const CocoDataset& images) {
  for (size_t i = 0; i < std::min<size_t>(images.size(), 100); ++i) {
    for (const Object& object : images.objects(i).objects) {
      if (!object.mask.runs.empty()) return true;
    }
  }
  return false;
}

class DetectionTask : public Task {
 public:
  DetectionTask(const TrainOptions& options, const std::string& path, int processes)
      : options_(options),
        images_(open_detection_data(path, options, processes)),
        model_(make_detector(options, images_.train)),
        columns_(detection_columns()),
        data_(task_data(images_)),
        masks_(any_mask(images_.val.has_value() ? *images_.val : images_.train)) {
    view_ = options.view;
    view_.flip = options.augment.flip;
    data_.smallest_scale = smallest_scale(images_.train, model_.spec.recipe, view_);
  }

  const TaskData& data() const override { return data_; }
  TrainedModel& model() override { return model_; }
  const Columns& columns() const override { return columns_; }

  TaskSummary summary() const override {
    size_t objects = 0;
    for (size_t i = 0; i < images_.train.size(); ++i) objects += images_.train.object_count(i);
    TaskSummary summary;
    const size_t classes = model_.classes.size();
    summary.subject = fmt::format("{} {} of objects", classes, classes == 1 ? "class" : "classes");
    summary.columns = columns_;
    summary.warnings = report_sentences(images_.report);
    summary.notes.push_back(fmt::format(
        "{} objects to learn from; images with a short side of {} and a long one of {} at most "
        "are padded to {} x {}",
        objects, model_.spec.recipe.resize, model_.spec.recipe.longest, model_.height,
        model_.width));
    if (!masks_) {
      summary.notes.emplace_back(
          "objects have no masks: the best network is that of the best box AP");
    }
    return summary;
  }

  size_t image_floats() const override {
    return static_cast<size_t>(model_.height) * static_cast<size_t>(model_.width) * 3;
  }
  void write_training(const Image& image, Target& target, const RandomStream& stream,
                      float* out) const override {
    target = augment_objects(image, std::get<Objects>(target), model_.spec.recipe, view_,
                             {model_.width, model_.height}, stream, out);
  }
  void write_validation(const Image& image, Target& target, float*) const override {
    frame_validation(image, model_.spec.recipe, target);
  }
  Image drawn(const float* image, const Target& target) const override {
    Detections shown;
    for (const PlacedObject& object : std::get<PlacedObjects>(target).objects) {
      std::vector<uint8_t> pixels(image_floats() / 3);
      for (int y = 0; y < model_.height; ++y) {
        for (int x = 0; x < model_.width; ++x) {
          pixels[static_cast<size_t>(y) * static_cast<size_t>(model_.width) +
                 static_cast<size_t>(x)] = object.mask.at(x, y) ? 1 : 0;
        }
      }
      shown.push_back(
          {object.box, object.label, 1.0f, encode_mask(pixels, model_.width, model_.height)});
    }
    return draw_detections(input_image(image, model_), shown, model_.classes);
  }

  StepBatch prepare(Batch& batch, const RandomStream&) const override {
    const auto count = static_cast<int64_t>(batch.items.size());
    return {at::from_blob(batch.data, {count, model_.height, model_.width, 3}, at::kFloat), {}};
  }

  at::Tensor loss(const ShardPass& pass, std::span<double> sums) const override {
    const DetectorPass detector(model_, model_.graph(), pass.values, pass.options);
    const DetectorMaps maps = detector.maps(pass.images);
    const int64_t all = pass.images.size(0);
    at::Tensor total;
    for (int64_t first = 0; first < all; first += loss_group(options_)) {
      const int64_t count = std::min<int64_t>(loss_group(options_), all - first);
      const DetectionLosses losses =
          group_losses(detector, maps.narrow(first, count), pass, first, count);
      for (size_t i = 0; i < losses.size(); ++i) {
        sums[i] += losses[i].item<double>() * static_cast<double>(count);
        const at::Tensor part = losses[i] * (static_cast<double>(count) / static_cast<double>(all));
        total = total.defined() ? total + part : part;
      }
    }
    return total;
  }

  std::unique_ptr<Evaluator> new_evaluator() const override {
    return make_detection_evaluator(model_, options_);
  }
  std::string best_by() const override { return masks_ ? "mask AP" : "box AP"; }
  size_t best_column() const override { return masks_ ? kMaskAp : kBoxAp; }
  // Where nothing is to be found AP is not a number, and the later network is as good as any.
  bool better(std::span<const double> a, std::span<const double> b) const override {
    return !(a[best_column()] <= b[best_column()]);
  }
  std::string best_label(std::span<const double> figures) const override {
    return fmt::format("{:.2f} % {}", 100 * figures[best_column()], best_by());
  }
  std::string best_sentence(std::span<const double> figures) const override {
    return fmt::format("box AP {:.2f} % (AP50 {:.2f} %), mask AP {:.2f} % (AP50 {:.2f} %)",
                       100 * figures[kBoxAp], 100 * figures[kBoxAp50], 100 * figures[kMaskAp],
                       100 * figures[kMaskAp50]);
  }
  std::string loss_note() const override { return ""; }

 private:
  // Draws what is learnt from, and learns from it.
  DetectionLosses group_losses(const DetectorPass& detector, const DetectorMaps& maps,
                               const ShardPass& pass, int64_t first, int64_t count) const {
    const DetectorConfig& config = *model_.spec.config->detector();
    std::vector<SampledImage> proposals, boxes;
    std::vector<std::vector<Box>> lists;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t number = first + i;  // in the pass
      const auto& truth =
          target_of<PlacedObjects>(pass.items[static_cast<size_t>(pass.first + number)]);
      const auto image = static_cast<uint64_t>(pass.options.image(number));
      const RandomStream stream = RandomStream(pass.options.seed).fork("samples").fork(image);
      std::vector<Box> objects;
      for (const PlacedObject& object : truth.objects) objects.push_back(object.box);
      proposals.push_back({&truth, sample_anchors(detector, truth, objects, stream)});
      std::vector<Box> found;
      for (const Proposal& proposal : detector.proposals(
               maps, i, config.training_proposals_per_level, truth.width, truth.height)) {
        found.push_back(proposal.box);
      }
      boxes.push_back({&truth, sample_boxes(found, objects, stream)});
      std::vector<Box>& list = lists.emplace_back(std::move(objects));
      list.insert(list.end(), found.begin(), found.end());
    }
    return detector.losses(maps, proposals, lists, boxes);
  }

  Samples sample_anchors(const DetectorPass& detector, const PlacedObjects& truth,
                         std::span<const Box> objects, const RandomStream& stream) const {
    const int multiple = model_.spec.recipe.multiple;
    const std::vector<int64_t> inside =
        detector.anchors_inside(padded(truth.width, multiple), padded(truth.height, multiple));
    std::vector<Box> anchors;
    for (const int64_t position : inside) {
      anchors.push_back(detector.anchors()[static_cast<size_t>(position)]);
    }
    const auto count = static_cast<size_t>(options_.proposal_samples);
    Samples samples = draw_samples(assign_boxes(anchors, objects, kProposalRule), count, count / 2,
                                   stream.fork("anchors"));
    for (auto* positions : {&samples.positive, &samples.negative}) {
      for (int64_t& position : *positions) position = inside[static_cast<size_t>(position)];
    }
    return samples;
  }

  // Of the list of all objects' own boxes, each standing for itself, and then `found`, which gets a
  // box of background where both are empty.
  Samples sample_boxes(std::vector<Box>& found, std::span<const Box> objects,
                       const RandomStream& stream) const {
    if (found.empty() && objects.empty()) {
      found.push_back({0, 0, static_cast<float>(model_.width), static_cast<float>(model_.height)});
    }
    std::vector<int> assigned;
    for (size_t k = 0; k < objects.size(); ++k) assigned.push_back(static_cast<int>(k) + 1);
    const std::vector<int> others = assign_boxes(found, objects, kBoxRule);
    assigned.insert(assigned.end(), others.begin(), others.end());
    const auto count = static_cast<size_t>(options_.box_samples);
    return draw_samples(assigned, count, count / 4, stream.fork("boxes"));
  }

  const TrainOptions options_;
  ViewOptions view_;
  const DetectionData images_;
  TrainedModel model_;
  const Columns columns_;
  TaskData data_;
  const bool masks_;
};

}  // namespace

std::unique_ptr<Task> open_detection(const TrainOptions& options, const std::string& data,
                                     int processes) {
  return std::make_unique<DetectionTask>(options, data, processes);
}

}  // namespace vig::train
