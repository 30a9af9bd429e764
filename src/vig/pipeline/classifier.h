// Pictures to classes.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "vig/data/picture_files.h"
#include "vig/pipeline/picture_results.h"
#include "vig/pipeline/runner.h"
#include "vig/tasks/classification.h"

namespace vig {

using ClassifiedPicture = PictureResult<Classification>;

// For any number of threads, as a Runner is.
class Classifier {
 public:
  explicit Classifier(const ModelSource& source, const RunOptions& options = {});
  // On a network that others use as well.
  explicit Classifier(std::shared_ptr<const Runner> runner) : runner_(std::move(runner)) {}

  // One answer per picture, in order; the `top` best classes of each. `size` is the side of the
  // network's input; 0: RunOptions::size.
  std::vector<ClassifiedPicture> classify(const SampleSource& pictures, int top,
                                          int size = 0) const;
  // Hands them out batch by batch.
  void classify(const SampleSource& pictures, int top, const HandleResults<Classification>& handle,
                int size = 0) const;

 private:
  std::shared_ptr<const Runner> runner_;
};

}  // namespace vig
