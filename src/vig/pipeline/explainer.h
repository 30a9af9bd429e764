// Explanations of images: which positions speak for a class, and which a token attends to.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vig/data/image_files.h"
#include "vig/image/preprocess.h"
#include "vig/pipeline/image_results.h"
#include "vig/pipeline/runner.h"
#include "vig/tasks/classification.h"
#include "vig/tasks/explanation.h"

namespace vig {

// The part of the network's input in the coordinates of the image.
SeenPart seen_part(const Placement& placement);

// What each token of the last grid adds to a class: the mean over the map is the class's logit.
// Against another class it is the difference of both.
struct Evidence {
  ClassScore about;                   // the class
  std::optional<ClassScore> against;  // the other class
  TokenMap map;
};

// What one layer takes from every token for the token at a position.
struct LayerAttention {
  int layer = 0;
  int head = -1;            // -1: the mean over the heads
  int row = 0, column = 0;  // of the token
  TokenMap map;
};

using ImageEvidence = ImageResult<Evidence>;
using ImageAttention = ImageResult<LayerAttention>;

// For any number of threads, as a Runner is.
class Explainer {
 public:
  struct EvidenceRequest {
    int about = -1;    // class; -1: the best one of each image
    int against = -1;  // class; -1: none
  };
  struct AttentionRequest {
    double x = 0, y = 0;  // the position, in parts of what the network sees: from 0 to 1
    int layer = -1;       // counted from 0; -1: the last one
    int head = -1;        // counted from 0; -1: the mean over the heads
  };

  explicit Explainer(const ModelSource& source, const RunOptions& options = {});
  // On a network that others use as well.
  explicit Explainer(std::shared_ptr<const Runner> runner) : runner_(std::move(runner)) {}

  const Runner& runner() const { return *runner_; }

  // Both throw (usage) where no exact view of this kind exists for the network: evidence needs a
  // classifier that is linear in the mean of its tokens, attention a layer that mixes tokens by
  // gated linear or softmax attention.
  void evidence(const SampleSource& images, const EvidenceRequest& request,
                const HandleResults<Evidence>& handle, int size = 0) const;
  void attention(const SampleSource& images, const AttentionRequest& request,
                 const HandleResults<LayerAttention>& handle, int size = 0) const;

 private:
  std::shared_ptr<const Runner> runner_;
};

// How many layers mix tokens as attention() shows, and how many heads each has.
std::vector<int> attention_heads(const Graph& graph);

}  // namespace vig
