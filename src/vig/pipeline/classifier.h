// Images to classes.
#pragma once

#include <memory>
#include <vector>

#include "vig/pipeline/pipeline.h"
#include "vig/tasks/results.h"

namespace vig {

class Runner;
struct ModelSource;
struct WholeOptions;

using ClassifiedImage = ImageResult<Classification>;

// For any number of threads.
class Classifier {
 public:
  // Throws everything that can be wrong with the model.
  explicit Classifier(const ModelRequest& model, const RunOptions& options = {});
  // Of a model that is found already.
  explicit Classifier(const ModelSource& source, const RunOptions& options = {});
  // On a network that others use as well.
  explicit Classifier(std::shared_ptr<const Runner> runner);

  // One result per image, in order; the `top` best classes of each. `size` is the side of the
  // network's input; 0: RunOptions::size.
  std::vector<ClassifiedImage> classify(const SampleSource& images, int top, int size = 0) const;
  // Hands them out batch by batch.
  void classify(const SampleSource& images, int top, const HandleResults<Classification>& handle,
                int size = 0) const;
  // Of images at their own size, in bounded memory (pipeline/whole_image.h).
  void classify_whole(const SampleSource& images, int top, const WholeOptions& whole,
                      const HandleResults<Classification>& handle) const;

 private:
  std::shared_ptr<const Runner> runner_;
};

}  // namespace vig
