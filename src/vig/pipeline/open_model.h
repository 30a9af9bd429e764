// One network, opened once, for all it can do: used by C, Python and the server.
//
//   const OpenModel model(find_source(request), options);
//   const auto results = model.classify(ImageBytes({{"cat", bytes}}), 5);
//
// The tasks share the weights and the threads. For any number of threads, which work as those of
// Runner do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vig/models/family.h"
#include "vig/pipeline/classifier.h"
#include "vig/pipeline/detector.h"
#include "vig/pipeline/embedder.h"
#include "vig/pipeline/explainer.h"
#include "vig/pipeline/model_source.h"
#include "vig/pipeline/runner.h"
#include "vig/pipeline/segmenter.h"
#include "vig/runtime/session.h"

namespace vig {

class OpenModel {
 public:
  explicit OpenModel(ModelSource source, const RunOptions& options = {});

  const ModelSource& source() const { return source_; }
  ModelTask task() const { return source_.spec.config->task(); }
  const std::vector<std::string>& classes() const { return source_.classes; }
  int class_count() const { return model_classes(source_.spec); }

  // One result per image, in order. Throws a usage error if the network is for another task.
  // `size` is the side of the input; 0: RunOptions::size.
  std::vector<ClassifiedImage> classify(const SampleSource& images, int top, int size = 0) const;
  std::vector<EmbeddedImage> embed(const SampleSource& images, Embedder::Kind kind,
                                   int size = 0) const;
  std::vector<ImageEvidence> evidence(const SampleSource& images,
                                      const Explainer::EvidenceRequest& request,
                                      int size = 0) const;
  std::vector<ImageAttention> attention(const SampleSource& images,
                                        const Explainer::AttentionRequest& request,
                                        int size = 0) const;
  std::vector<SegmentedImage> segment(const SampleSource& images) const;
  std::vector<DetectedImage> detect(const SampleSource& images) const;

  // For arrays instead of images: a session of its own on the weights and threads of all, for
  // the graph that sees the image at this size. Throws a usage error for sizes out of bounds.
  Session session(int height, int width, int batch) const;

  // What does the work; each throws where the network is for another task.
  const std::shared_ptr<const Runner>& runner() const;
  const Segmenter& segmenter() const;
  const Detector& detector() const;

 private:
  const ModelSource source_;
  std::shared_ptr<const Runner> runner_;        // of a classifier
  std::unique_ptr<const Segmenter> segmenter_;  // of one of the other tasks
  std::unique_ptr<const Detector> detector_;
};

}  // namespace vig
