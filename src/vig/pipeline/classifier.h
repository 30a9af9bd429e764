// Images to classes.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "vig/data/image_files.h"
#include "vig/pipeline/image_results.h"
#include "vig/pipeline/runner.h"
#include "vig/tasks/classification.h"

namespace vig {

using ClassifiedImage = ImageResult<Classification>;

// For any number of threads, as a Runner is.
class Classifier {
 public:
  explicit Classifier(const ModelSource& source, const RunOptions& options = {});
  // On a network that others use as well.
  explicit Classifier(std::shared_ptr<const Runner> runner) : runner_(std::move(runner)) {}

  // One result per image, in order; the `top` best classes of each. `size` is the side of the
  // network's input; 0: RunOptions::size.
  std::vector<ClassifiedImage> classify(const SampleSource& images, int top, int size = 0) const;
  // Hands them out batch by batch.
  void classify(const SampleSource& images, int top, const HandleResults<Classification>& handle,
                int size = 0) const;

 private:
  std::shared_ptr<const Runner> runner_;
};

}  // namespace vig
