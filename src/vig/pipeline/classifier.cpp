#include "vig/pipeline/classifier.h"

#include <span>
#include <utility>

#include "vig/pipeline/run_images.h"
#include "vig/pipeline/whole_runner.h"
#include "vig/tasks/classification.h"

namespace vig {

Classifier::Classifier(const ModelRequest& model, const RunOptions& options)
    : Classifier(find_source(model), options) {}

Classifier::Classifier(const ModelSource& source, const RunOptions& options)
    : runner_(std::make_shared<const Runner>(require_weights(source), options)) {}

Classifier::Classifier(std::shared_ptr<const Runner> runner) : runner_(std::move(runner)) {}

void Classifier::classify(const SampleSource& images, int top,
                          const HandleResults<Classification>& handle, int size) const {
  const auto classes = static_cast<size_t>(model_classes(runner_->spec()));
  const auto decode = [&](const Session& session, int image) {
    const std::span<const float> logits(session.output("logits", image), classes);
    return decode_classes(logits, top, runner_->classes(), runner_->confidence().temperature);
  };
  run_images<Classification>(*runner_, images, size, decode, handle);
}

void Classifier::classify_whole(const SampleSource& images, int top, const WholeOptions& whole,
                                const HandleResults<Classification>& handle) const {
  const WholeRunner network(runner_, whole);
  const auto decode = [&](RegionSource& image) {
    return decode_classes(network.run(image, "logits").all(), top, runner_->classes(),
                          runner_->confidence().temperature);
  };
  run_whole_images<Classification>(whole, images, decode, handle);
}

std::vector<ClassifiedImage> Classifier::classify(const SampleSource& images, int top,
                                                  int size) const {
  std::vector<ClassifiedImage> all;
  classify(images, top, collect_results(all), size);
  return all;
}

}  // namespace vig
