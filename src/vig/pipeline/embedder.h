// Images to vectors.
#pragma once

#include <memory>
#include <vector>

#include "vig/pipeline/pipeline.h"
#include "vig/tasks/results.h"

namespace vig {

class Runner;
struct ModelSource;
struct WholeOptions;
struct WholeValues;

using EmbeddedImage = ImageResult<Embedding>;

// For any number of threads.
class Embedder {
 public:
  enum class Kind {
    kPooled,  // what the classifier sees: one vector
    kMap      // the last feature map, a vector per cell
  };

  // Throws everything that can be wrong with the model.
  explicit Embedder(const ModelRequest& model, const RunOptions& options = {});
  // Of a model that is found already.
  explicit Embedder(const ModelSource& source, const RunOptions& options = {});
  // On a network that others use as well.
  explicit Embedder(std::shared_ptr<const Runner> runner);

  // One result per image, in order. `size` is the side of the network's input; 0:
  // RunOptions::size.
  std::vector<EmbeddedImage> embed(const SampleSource& images, Kind kind, int size = 0) const;
  // Hands them out batch by batch.
  void embed(const SampleSource& images, Kind kind, const HandleResults<Embedding>& handle,
             int size = 0) const;
  // Of images at their own size, in bounded memory (pipeline/whole_image.h). Results are read in
  // parts, and hold the memory of the run as long as they exist.
  void embed_whole(const SampleSource& images, Kind kind, const WholeOptions& whole,
                   const HandleResults<WholeValues>& handle) const;

 private:
  std::shared_ptr<const Runner> runner_;
};

}  // namespace vig
