#include "vig/pipeline/classifier.h"

#include "vig/base/error.h"

namespace vig {

Classifier::Classifier(const ModelSource& source, const RunOptions& options)
    : runner_(require_weights(source), options) {}

std::vector<ClassifiedPicture> Classifier::classify(std::span<const Picture> pictures, int top) {
  std::vector<ClassifiedPicture> results;
  for (const Picture& picture : pictures) results.push_back({picture.name, {}, picture.error});
  const auto classes = static_cast<size_t>(model_classes(runner_.spec()));
  runner_.run(pictures, [&](size_t index, const Session& session, int image) {
    const std::span<const float> logits(session.output("logits", image), classes);
    try {
      results[index].answer = decode_classes(logits, top, runner_.classes());
    } catch (const Error& error) {
      results[index].error = fmt::format("{}: {}", pictures[index].name, error.what());
    }
  });
  return results;
}

}  // namespace vig
