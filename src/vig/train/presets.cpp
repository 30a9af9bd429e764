#include "vig/train/presets.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "vig/base/error.h"
#include "vig/models/family.h"
#include "vig/pipeline/default_model.h"
#include "vig/train/task.h"
#include "vig/train/tasks/dense_data.h"
#include "vig/train/tasks/labelled_data.h"

namespace vig::train {
namespace {

// From here on the paper's presets are the better ones.
constexpr size_t kManyImages = 100000;
constexpr int kLargeSide = 128;
constexpr size_t kManyLabelMaps = 10000;
constexpr size_t kManyAnnotated = 50000;
// Up to here a trained model is the better start.
constexpr size_t kFewImages = 20000;
constexpr size_t kFewDenseImages = 2000;

// The paper's, for vig_t: 300 epochs of ImageNet.
TrainOptions imagenet() {
  TrainOptions options;
  options.lr_batch = 512;
  options.augment.crop = AugmentOptions::Crop::kResized;
  options.augment.rand_augment_ops = 2;
  options.augment.erase = 0.25f;
  options.mix = {0.8f, 1.0f, 0.5f, 1.0f, 0.1f};
  return options;
}

// Thousands of small images, tens of epochs: gentle augmentation, a high learning rate that falls
// to nothing, averaged weights that follow within an epoch.
TrainOptions small() {
  TrainOptions options;
  options.epochs = 30;
  options.batch = 128;
  options.lr = 2e-3;
  options.min_lr = 1e-5;
  options.warmup_lr = 1e-5;
  options.warmup_epochs = 2;
  options.clip = 1;
  options.ema = 0.999;
  options.augment.crop = AugmentOptions::Crop::kPadded;
  options.mix.smoothing = 0.1f;
  return options;
}

// A trained classifier on hundreds or thousands of images, in minutes: low rates, lower in early
// blocks, mild augmentation.
TrainOptions finetune() {
  TrainOptions options = small();
  options.epochs = 40;
  options.batch = 32;
  options.lr = 1e-3;
  options.min_lr = 1e-6;
  options.warmup_lr = 1e-6;
  options.warmup_epochs = 1;
  options.layer_decay = 0.8;
  options.ema = 0.98;
  options.patience = 12;
  options.augment.crop = AugmentOptions::Crop::kResized;
  options.augment.scale_min = 0.4f;
  options.augment.color_jitter = 0.2f;
  return options;
}

// The paper's, for vig_t under UperNet: 160,000 steps of 16. The original shares batch norms among
// all 16; two together fit the memory of common machines.
TrainOptions ade20k() {
  TrainOptions options;
  options.task = "segment";
  options.steps = 160000;
  options.batch = 16;
  options.norm_group = 2;
  options.lr = 1.2e-4;
  options.schedule = "linear";
  options.min_lr = 0;
  options.warmup_steps = 1500;
  options.warmup_lr = 1.2e-10;
  options.weight_decay = 0.01;
  options.layer_decay = 0.95;
  options.clip = 0;
  options.ema = 0;
  options.view.resize_min = 0.5f;
  options.view.resize_max = 2.0f;
  options.view.photometric = true;
  return options;
}

// The paper's, for vig_t under Mask R-CNN: 12 epochs of COCO, one scale.
TrainOptions coco() {
  TrainOptions options;
  options.task = "detect";
  options.epochs = 12;
  options.batch = 16;
  options.norm_group = 2;
  options.lr = 1e-4;
  options.schedule = "steps";
  options.lr_drops = "8,11";
  options.min_lr = 0;
  options.warmup_steps = 500;
  options.warmup_lr = 1e-7;
  options.weight_decay = 0.05;
  options.layer_decay = 0.85;
  options.clip = 0;
  options.ema = 0;
  return options;
}

// Hundreds of images with label maps, on a few cores.
TrainOptions segment() {
  TrainOptions options = ade20k();
  options.steps = 0;
  options.epochs = 40;
  options.batch = 8;
  options.norm_group = 4;
  options.lr = 5e-4;
  options.warmup_steps = 0;
  options.warmup_epochs = 2;
  options.warmup_lr = 1e-6;
  options.layer_decay = 0.9;
  options.clip = 5;
  options.ema = 0.99;
  return options;
}

// Hundreds of images with objects, on a few cores: fewer boxes an image.
TrainOptions detect() {
  TrainOptions options = coco();
  options.epochs = 40;
  options.batch = 4;
  options.lr = 5e-4;
  options.schedule = "linear";
  options.lr_drops = "";
  options.warmup_steps = 0;
  options.warmup_epochs = 2;
  options.warmup_lr = 1e-6;
  options.layer_decay = 0.9;
  options.clip = 10;
  options.ema = 0.99;
  options.proposal_samples = 128;
  options.box_samples = 128;
  return options;
}

struct Preset {
  std::string_view name;
  TrainOptions (*options)();
};
constexpr Preset kPresets[] = {{"imagenet", imagenet}, {"small", small},     {"finetune", finetune},
                               {"ade20k", ade20k},     {"segment", segment}, {"coco", coco},
                               {"detect", detect}};

bool is_few(const DataFacts& data) {
  return data.images <= (data.task == ModelTask::kClassify ? kFewImages : kFewDenseImages);
}

bool is_weight_file(const std::string& model) {
  return std::ranges::none_of(model_zoo(), [&](const ModelSpec& s) { return s.name == model; });
}

// The model to begin with where none is given; empty: a fresh one.
std::string bundled_start(const DataFacts& data) {
  if (!is_few(data)) return "";
  try {
    return default_model_file(data.task);
  } catch (const Error&) {  // none is installed
    return "";
  }
}

const char* preset_for(const DataFacts& data, bool trained) {
  switch (data.task) {
    case ModelTask::kSegment:
      return data.images >= kManyLabelMaps ? "ade20k" : "segment";
    case ModelTask::kDetect:
      return data.images >= kManyAnnotated ? "coco" : "detect";
    case ModelTask::kClassify:
      break;
  }
  if (trained && is_few(data)) return "finetune";
  return data.images >= kManyImages && data.short_side >= kLargeSide ? "imagenet" : "small";
}

std::string reason(const DataFacts& data, bool trained) {
  const std::string found =
      fmt::format("{} images with a typical short side of {} pixels", data.images, data.short_side);
  if (data.task == ModelTask::kSegment) {
    return fmt::format("{} and label maps (ade20k is for {} and more)", found, kManyLabelMaps);
  }
  if (data.task == ModelTask::kDetect) {
    return fmt::format("{} and objects (coco is for {} and more)", found, kManyAnnotated);
  }
  if (trained && is_few(data)) {
    return fmt::format("{} and a trained model (from {} images on: small)", found, kFewImages + 1);
  }
  return fmt::format("{} (imagenet is for {} and more of at least {})", found, kManyImages,
                     kLargeSide);
}

// Passes over few images that take some ten minutes on two cores with the models that come with
// the program.
double short_epochs(const DataFacts& data, double images, double least, double most) {
  const auto count = static_cast<double>(std::max<size_t>(1, data.images));
  return std::clamp(std::ceil(images / count), least, most);
}

// Options that follow the number of images and their size.
void fit_classifier(const DataFacts& data, const std::map<std::string, std::string>& given,
                    int usual_batch, TrainOptions& options) {
  // Some sixteen steps an epoch and a thousand in all; Adam's rate follows the root of the batch.
  if (!given.contains("batch")) {
    while (options.batch > 8 && static_cast<size_t>(options.batch) * 16 > data.images) {
      options.batch /= 2;
    }
  }
  if (!given.contains("lr") && options.batch < usual_batch) {
    options.lr =
        std::round(1e5 * options.lr * std::sqrt(options.batch / double(usual_batch))) / 1e5;
  }
  const bool finetune = options.preset == "finetune";
  const bool length_given = given.contains("epochs") || given.contains("steps");
  if (!length_given && finetune) {
    options.epochs = short_epochs(data, 12000, 5, options.epochs);
  } else if (!length_given) {
    const double steps = std::ceil(static_cast<double>(data.images) / options.batch);
    options.epochs = std::clamp(std::ceil(1000 / std::max(1.0, steps)), options.epochs, 100.0);
  }
  // Small images are enlarged, or the network would see few patches of them.
  if (!given.contains("model") && !given.contains("size") && data.short_side > 0 &&
      data.short_side < 112) {
    options.size = std::max(64, (2 * data.short_side + 8) / 16 * 16);
  }
}

// Of a dense network the size of small images, in whole patches.
void fit_dense(const DataFacts& data, const std::map<std::string, std::string>& given, bool bundled,
               TrainOptions& options) {
  const int largest = data.task == ModelTask::kSegment ? 512 : 800;
  if (!given.contains("size") && data.short_side > 0 && data.short_side < largest) {
    options.size = std::max(64, data.short_side / 32 * 32);
  }
  if (!given.contains("epochs") && !given.contains("steps")) {
    const double steps = std::ceil(static_cast<double>(data.images) / options.batch);
    options.epochs = std::clamp(std::ceil(2000 / std::max(1.0, steps)), 10.0, 200.0);
    if (bundled) options.epochs = short_epochs(data, 2000, 3, 100);
  }
}

}  // namespace

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Preset& preset : kPresets) all.emplace_back(preset.name);
    return all;
  }();
  return names;
}

TrainOptions preset_options(const std::string& preset) {
  for (const Preset& known : kPresets) {
    if (known.name != preset) continue;
    TrainOptions options = known.options();
    options.preset = preset;
    return options;
  }
  fail_usage("there is no preset '{}', expected {} or {}", preset,
             fmt::join(std::span(preset_names()).first(preset_names().size() - 1), ", "),
             preset_names().back());
}

DataFacts measure_data(const std::string& path, const TrainOptions& options) {
  DataFacts facts;
  facts.task = task_of(options, path);
  const auto measure = [&](const SampleSource& source) {
    const ImageFacts found = image_facts(source);
    facts.images = found.images;
    facts.short_side = found.short_side;
  };
  switch (facts.task) {
    case ModelTask::kClassify:
      measure(open_training_split(path, options));
      break;
    case ModelTask::kSegment:
      measure(*open_training_source<LabelPairs>(path, options));
      break;
    case ModelTask::kDetect:
      measure(*open_training_source<CocoDataset>(path, options));
      break;
  }
  return facts;
}

ChosenPreset choose_preset(const DataFacts& data, std::map<std::string, std::string> given,
                           bool fields) {
  ChosenPreset chosen;
  TrainOptions& options = chosen.options;
  std::string start;
  const auto model = given.find("model");
  if (model != given.end() && model->second == kFreshModel) {
    given.erase(model);
  } else if (model == given.end() && !given.contains("arch") && !fields) {
    start = bundled_start(data);
  }
  const bool bundled = !start.empty();
  if (bundled) {
    chosen.sentence =
        fmt::format("starting from {} (--model {}: from random weights)\n", start, kFreshModel);
    given["model"] = start;
  }
  const bool trained = given.contains("model") && is_weight_file(given["model"]);
  options = preset_options(preset_for(data, trained));
  chosen.sentence += fmt::format("preset {}: {}", options.preset, reason(data, trained));
  const int usual_batch = options.batch;
  for (const auto& [name, text] : given) set_option(options, name, text);
  const std::string preset = options.preset;
  const std::map<std::string, std::string> before = option_texts(options);
  if (preset == "small" || preset == "finetune") fit_classifier(data, given, usual_batch, options);
  if (preset == "segment" || preset == "detect") fit_dense(data, given, bundled, options);
  std::string changes;
  for (const auto& [name, text] : option_texts(options)) {
    if (before.at(name) != text) changes += fmt::format(" --{} {}", name, text);
  }
  if (!changes.empty()) chosen.sentence += "; for these" + changes;
  if (bundled && !given.contains("epochs")) {
    chosen.sentence += "; this is a short run: more --epochs may gain accuracy";
  }
  return chosen;
}

}  // namespace vig::train
