#include "vig/train/preview.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "vig/base/error.h"
#include "vig/data/order.h"
#include "vig/image/encode_png.h"
#include "vig/train/epochs.h"
#include "vig/weights/atomic_file.h"

namespace vig::train {

Image input_image(const float* input, const TrainedModel& model) {
  const Recipe& recipe = model.spec.recipe;
  Image image(model.width, model.height);
  for (size_t i = 0; i < image.rgb.size(); ++i) {
    const float value = 255.0f * (input[i] * recipe.std[i % 3] + recipe.mean[i % 3]);
    image.rgb[i] = static_cast<uint8_t>(std::lround(std::clamp(value, 0.0f, 255.0f)));
  }
  return image;
}

void write_preview(Task& task, const TrainOptions& options, const std::string& folder) {
  namespace fs = std::filesystem;
  const SampleSource& source = *task.data().train;
  const std::vector<size_t> order = epoch_samples(task.data(), options, 0);
  const std::vector<size_t> times = times_before(order);
  const fs::path to = fs::path(folder) / "preview";
  std::error_code error;
  fs::create_directories(to, error);
  if (error) fail("{}: {}", to.string(), error.message());
  std::vector<float> input(task.image_floats());
  int left = options.preview;
  for (size_t i = 0; i < order.size() && left > 0; ++i) {
    if (times[i] > 0) continue;
    --left;
    Sample sample;
    try {
      sample = source.load(order[i]);
    } catch (const Error&) {  // training will report it
      continue;
    }
    task.write_training(*sample.image, *sample.target,
                        augmentation_stream(options, 0).fork(order[i]), input.data());
    Image image = task.drawn(input.data(), *sample.target);
    if (image.rgb.empty()) image = input_image(input.data(), task.model());
    const std::vector<uint8_t> bytes = encode_png(image);
    AtomicFile((to / fmt::format("{}.png", order[i])).string())
        .commit_text(std::string(bytes.begin(), bytes.end()));
  }
}

}  // namespace vig::train
