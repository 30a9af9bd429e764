// Pictures to classes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "vig/pipeline/runner.h"
#include "vig/tasks/classification.h"

namespace vig {

struct ClassifiedPicture {
  std::string name;
  Classification answer;
  std::string error;  // why there is no answer; empty when there is one
};

class Classifier {
 public:
  explicit Classifier(const ModelSource& source, const RunOptions& options = {});

  // How pictures must be cut; see Runner::recipe.
  Recipe recipe(int size = 0) const { return runner_.recipe(size); }
  // One answer per picture, in order; the `top` best classes of each.
  std::vector<ClassifiedPicture> classify(std::span<const Picture> pictures, int top);

 private:
  Runner runner_;
};

}  // namespace vig
