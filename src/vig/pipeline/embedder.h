// Images to vectors.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "vig/data/image_files.h"
#include "vig/pipeline/image_results.h"
#include "vig/pipeline/runner.h"
#include "vig/tasks/embedding.h"

namespace vig {

using EmbeddedImage = ImageResult<Embedding>;

// For any number of threads, as a Runner is.
class Embedder {
 public:
  enum class Kind {
    kPooled,  // what the classifier sees: one vector
    kMap      // the last feature map, a vector per cell
  };

  explicit Embedder(const ModelSource& source, const RunOptions& options = {});
  // On a network that others use as well.
  explicit Embedder(std::shared_ptr<const Runner> runner) : runner_(std::move(runner)) {}

  // One result per image, in order. `size` is the side of the network's input; 0:
  // RunOptions::size.
  std::vector<EmbeddedImage> embed(const SampleSource& images, Kind kind, int size = 0) const;
  // Hands them out batch by batch.
  void embed(const SampleSource& images, Kind kind, const HandleResults<Embedding>& handle,
             int size = 0) const;

 private:
  std::shared_ptr<const Runner> runner_;
};

}  // namespace vig
