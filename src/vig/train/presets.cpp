#include "vig/train/presets.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "vig/base/error.h"
#include "vig/train/tasks/labelled_data.h"

namespace vig::train {
namespace {

// From here on the paper's preset is the better one.
constexpr size_t kManyPictures = 100000;
constexpr int kLargeSide = 128;

// The paper's, for vig_t: 300 epochs of ImageNet.
TrainOptions imagenet() {
  TrainOptions options;
  options.lr_batch = 512;
  options.augment.crop = AugmentOptions::Crop::kResized;
  options.augment.rand_augment_ops = 2;
  options.augment.color_jitter = 0.4f;
  options.augment.erase = 0.25f;
  options.mix = {0.8f, 1.0f, 0.5f, 1.0f, 0.1f};
  return options;
}

// Thousands of small pictures, tens of epochs: gentle augmentation, a high learning rate that falls
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

}  // namespace

TrainOptions preset_options(const std::string& preset) {
  TrainOptions options;
  if (preset == "imagenet") {
    options = imagenet();
  } else if (preset == "small") {
    options = small();
  } else {
    fail_usage("there is no preset '{}', expected imagenet or small", preset);
  }
  options.preset = preset;
  return options;
}

DataFacts measure_data(const std::string& path, const TrainOptions& options) {
  constexpr size_t kLookedAt = 25;
  const Dataset pictures = open_training_split(path, options);
  DataFacts facts;
  facts.pictures = pictures.size();
  std::vector<int> sides;
  const size_t count = std::min(kLookedAt, pictures.size());
  for (size_t i = 0; i < count; ++i) {
    try {
      const auto image = pictures.decode(i * pictures.size() / count);
      sides.push_back(std::min(image->width, image->height));
    } catch (const Error&) {  // training will report it
    }
  }
  if (sides.empty()) return facts;
  std::ranges::sort(sides);
  facts.short_side = sides[sides.size() / 2];
  return facts;
}

ChosenPreset choose_preset(const DataFacts& data, const std::map<std::string, std::string>& given) {
  const bool large = data.pictures >= kManyPictures && data.short_side >= kLargeSide;
  ChosenPreset chosen;
  TrainOptions& options = chosen.options;
  options = preset_options(large ? "imagenet" : "small");
  chosen.sentence = fmt::format(
      "preset {}: {} pictures with a typical short side of {} pixels (imagenet is for {} and more "
      "of at least {})",
      options.preset, data.pictures, data.short_side, kManyPictures, kLargeSide);
  const int usual_batch = options.batch;
  for (const auto& [name, text] : given) set_option(options, name, text);
  if (large) return chosen;

  const std::map<std::string, std::string> before = option_texts(options);
  // Some sixteen steps an epoch and a thousand in all; Adam's rate follows the root of the batch.
  if (!given.contains("batch")) {
    while (options.batch > 8 && static_cast<size_t>(options.batch) * 16 > data.pictures) {
      options.batch /= 2;
    }
  }
  if (!given.contains("lr") && options.batch < usual_batch) {
    options.lr =
        std::round(1e5 * options.lr * std::sqrt(options.batch / double(usual_batch))) / 1e5;
  }
  if (!given.contains("epochs")) {
    const double steps = std::ceil(static_cast<double>(data.pictures) / options.batch);
    options.epochs = std::clamp(std::ceil(1000 / std::max(1.0, steps)), options.epochs, 100.0);
  }
  // Small pictures are enlarged, or the network would see few patches of them.
  if (!given.contains("model") && !given.contains("size") && data.short_side > 0 &&
      data.short_side < 112) {
    options.size = std::max(64, (2 * data.short_side + 8) / 16 * 16);
  }
  std::string changes;
  for (const auto& [name, text] : option_texts(options)) {
    if (before.at(name) != text) changes += fmt::format(" --{} {}", name, text);
  }
  if (!changes.empty()) chosen.sentence += "; for these" + changes;
  return chosen;
}

}  // namespace vig::train
