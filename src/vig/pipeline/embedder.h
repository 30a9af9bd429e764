// Pictures to vectors.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "vig/pipeline/runner.h"
#include "vig/tasks/embedding.h"

namespace vig {

struct EmbeddedPicture {
  std::string name;
  Embedding answer;
  std::string error;  // why there is no answer; empty when there is one
};

class Embedder {
 public:
  enum class Kind {
    kPooled,  // what the classifier sees: one vector
    kMap      // the last feature map, a vector per cell
  };

  explicit Embedder(const ModelSource& source, const RunOptions& options = {});

  // How pictures must be cut; see Runner::recipe.
  Recipe recipe(int size = 0) const { return runner_.recipe(size); }
  // One answer per picture, in order.
  std::vector<EmbeddedPicture> embed(std::span<const Picture> pictures, Kind kind);

 private:
  Runner runner_;
};

}  // namespace vig
