#include "vig/pipeline/open_model.h"

#include <utility>

#include "vig/base/error.h"
#include "vig/models/family.h"
#include "vig/pipeline/run_images.h"

namespace vig {

OpenModel::OpenModel(ModelSource source, const RunOptions& options) : source_(std::move(source)) {
  require_weights(source_);
  switch (task()) {
    case ModelTask::kClassify:
      runner_ = std::make_shared<const Runner>(source_, options);
      break;
    case ModelTask::kSegment:
      segmenter_ = std::make_unique<const Segmenter>(source_, options);
      break;
    case ModelTask::kDetect:
      detector_ = std::make_unique<const Detector>(source_, options);
      break;
  }
}

Session OpenModel::session(int height, int width, int batch) const {
  constexpr int kMostImages = 4096;
  check_input_size(height, width);
  if (batch < 1 || batch > kMostImages) {
    fail_usage("a batch of {} images, expected 1 to {}", batch, kMostImages);
  }
  const Runner& runner = runner_      ? *runner_
                         : segmenter_ ? segmenter_->runner()
                                      : detector_->runner();
  const SessionPool& pool = runner.sessions();
  SessionOptions options;
  options.batch = batch;
  options.thread_pool = pool.shared_thread_pool();
  return Session(pool.shared_model(), build_graph(source_.spec, height, width), options);
}

const std::shared_ptr<const Runner>& OpenModel::runner() const {
  check_task(source_, ModelTask::kClassify);
  return runner_;
}

std::vector<ClassifiedImage> OpenModel::classify(const SampleSource& images, int top,
                                                 int size) const {
  return Classifier(runner()).classify(images, top, size);
}

std::vector<EmbeddedImage> OpenModel::embed(const SampleSource& images, Embedder::Kind kind,
                                            int size) const {
  return Embedder(runner()).embed(images, kind, size);
}

std::vector<ImageEvidence> OpenModel::evidence(const SampleSource& images,
                                               const Explainer::EvidenceRequest& request,
                                               int size) const {
  std::vector<ImageEvidence> all;
  Explainer(runner()).evidence(images, request, collect_results(all), size);
  return all;
}

std::vector<ImageAttention> OpenModel::attention(const SampleSource& images,
                                                 const Explainer::AttentionRequest& request,
                                                 int size) const {
  std::vector<ImageAttention> all;
  Explainer(runner()).attention(images, request, collect_results(all), size);
  return all;
}

const Segmenter& OpenModel::segmenter() const {
  check_task(source_, ModelTask::kSegment);
  return *segmenter_;
}

const Detector& OpenModel::detector() const {
  check_task(source_, ModelTask::kDetect);
  return *detector_;
}

std::vector<SegmentedImage> OpenModel::segment(const SampleSource& images) const {
  return segmenter().segment(images);
}

std::vector<DetectedImage> OpenModel::detect(const SampleSource& images) const {
  return detector().detect(images);
}

}  // namespace vig
