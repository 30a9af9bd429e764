#include "vig/train/tasks/class_weights.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>

#include "vig/base/error.h"
#include "vig/data/dense_files.h"

namespace vig::train {
namespace {

constexpr double kLeastWeight = 0.1, kMostWeight = 10;

std::vector<float> listed_weights(const TrainOptions& options, size_t classes) {
  const std::vector<double> weights = class_weight_list(options);
  if (weights.size() != classes) {
    fail_usage("--class-weights has {} values, expected {}, one for each class in their order",
               weights.size(), classes);
  }
  return {weights.begin(), weights.end()};
}

// The mean of the two in the middle where there is an even number. Not empty.
double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

std::vector<float> image_weights(const TrainOptions& options, std::span<const int64_t> images) {
  if (options.class_weights == "none") return {};
  if (options.class_weights != "balanced") return listed_weights(options, images.size());
  const auto all = static_cast<double>(std::accumulate(images.begin(), images.end(), int64_t{0}));
  std::vector<float> weights;
  for (const int64_t count : images) {
    const double even = static_cast<double>(images.size()) * static_cast<double>(count);
    weights.push_back(static_cast<float>(all / even));
  }
  return weights;
}

PixelShares count_pixels(const LabelPairs& data, int threads) {
  const size_t classes = data.classes().size();
  PixelShares shares{std::vector<int64_t>(classes), std::vector<int64_t>(classes)};
  std::mutex mutex;
  DataReport damaged;  // training reports it
  CheckOptions options;
  options.threads = threads;
  examine_samples(
      data.size(), options,
      [&](size_t sample) {
        std::array<int64_t, 256> counts = {};
        for (const uint8_t label : data.labels(sample).labels) ++counts[label];
        const int64_t labelled =
            std::accumulate(counts.begin(), counts.end(), int64_t{0}) - counts[kNoLabel];
        const std::lock_guard lock(mutex);
        for (size_t c = 0; c < classes; ++c) {
          shares.pixels[c] += counts[c];
          if (counts[c] > 0) shares.labelled[c] += labelled;
        }
      },
      damaged);
  return shares;
}

std::vector<float> pixel_weights(const TrainOptions& options, const LabelPairs& data) {
  if (options.class_weights == "none") return {};
  if (options.class_weights != "balanced") return listed_weights(options, data.classes().size());
  return balanced_pixel_weights(count_pixels(data, std::max(1, options.loaders)));
}

std::vector<float> balanced_pixel_weights(const PixelShares& shares) {
  const size_t classes = shares.pixels.size();
  std::vector<double> frequencies(classes), shown;
  for (size_t c = 0; c < classes; ++c) {
    if (shares.pixels[c] == 0) continue;
    frequencies[c] =
        static_cast<double>(shares.pixels[c]) / static_cast<double>(shares.labelled[c]);
    shown.push_back(frequencies[c]);
  }
  std::vector<float> weights(classes, 1.0f);
  if (shown.empty()) return weights;
  const double middle = median(shown);
  for (size_t c = 0; c < classes; ++c) {
    if (frequencies[c] == 0) continue;
    weights[c] = static_cast<float>(std::clamp(middle / frequencies[c], kLeastWeight, kMostWeight));
  }
  return weights;
}

}  // namespace vig::train
