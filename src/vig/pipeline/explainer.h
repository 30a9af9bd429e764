// Explanations of images: which positions speak for a class, and which a token attends to.
#pragma once

#include <memory>
#include <vector>

#include "vig/pipeline/pipeline.h"
#include "vig/tasks/results.h"

namespace vig {

class Runner;
struct Graph;
struct ModelSource;

using ImageEvidence = ImageResult<Evidence>;
using ImageAttention = ImageResult<LayerAttention>;

// For any number of threads.
class Explainer {
 public:
  struct EvidenceRequest {
    int about = -1;    // class; -1: the best one of each image
    int against = -1;  // class; -1: none
  };
  // What gated linear attention shows: of one direction by itself, of the layer, or all three.
  enum class Direction { kBoth, kForward, kBackward, kAll };
  struct AttentionRequest {
    double x = 0, y = 0;  // the position, in parts of what the network sees: from 0 to 1
    int layer = -1;       // counted from 0; -1: the last one
    int head = -1;        // counted from 0; -1: the mean over the heads
    Direction direction = Direction::kBoth;
  };

  // Throws everything that can be wrong with the model.
  explicit Explainer(const ModelRequest& model, const RunOptions& options = {});
  // Of a model that is found already.
  explicit Explainer(const ModelSource& source, const RunOptions& options = {});
  // On a network that others use as well.
  explicit Explainer(std::shared_ptr<const Runner> runner);

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
