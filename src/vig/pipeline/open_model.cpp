#include "vig/pipeline/open_model.h"

#include <utility>

#include "vig/base/error.h"
#include "vig/models/registry.h"

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
  constexpr int kMostPictures = 4096;
  check_input_size(height, width);
  if (batch < 1 || batch > kMostPictures) {
    fail_usage("a batch of {} pictures, expected 1 to {}", batch, kMostPictures);
  }
  const SessionPool& pool = runner_      ? runner_->sessions()
                            : segmenter_ ? segmenter_->runner().sessions()
                                         : detector_->runner().sessions();
  SessionOptions options;
  options.batch = batch;
  options.team = pool.shared_team();
  return Session(pool.shared_model(), build_graph(source_.spec, height, width), options);
}

const std::shared_ptr<const Runner>& OpenModel::runner() const {
  check_task(source_, ModelTask::kClassify);
  return runner_;
}

std::vector<ClassifiedPicture> OpenModel::classify(const SampleSource& pictures, int top,
                                                   int size) const {
  return Classifier(runner()).classify(pictures, top, size);
}

std::vector<EmbeddedPicture> OpenModel::embed(const SampleSource& pictures, Embedder::Kind kind,
                                              int size) const {
  return Embedder(runner()).embed(pictures, kind, size);
}

std::vector<PictureEvidence> OpenModel::evidence(const SampleSource& pictures,
                                                 const Explainer::EvidenceRequest& request,
                                                 int size) const {
  std::vector<PictureEvidence> all;
  Explainer(runner()).evidence(pictures, request, collect_results(all), size);
  return all;
}

std::vector<PictureAttention> OpenModel::attention(const SampleSource& pictures,
                                                   const Explainer::AttentionRequest& request,
                                                   int size) const {
  std::vector<PictureAttention> all;
  Explainer(runner()).attention(pictures, request, collect_results(all), size);
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

std::vector<SegmentedPicture> OpenModel::segment(const SampleSource& pictures) const {
  return segmenter().segment(pictures);
}

std::vector<DetectedPicture> OpenModel::detect(const SampleSource& pictures) const {
  return detector().detect(pictures);
}

}  // namespace vig
