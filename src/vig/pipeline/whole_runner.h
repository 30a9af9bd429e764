// The network on one whole image, in memory where that is allowed, by segments where not.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vig/pipeline/whole_image.h"

namespace vig {

class Runner;

// An output of the network, [height, width, channels].
struct WholeValues {
  int height = 0, width = 0, channels = 0;
  std::vector<float> values;
};

class WholeRunner {
 public:
  WholeRunner(std::shared_ptr<const Runner> runner, const WholeOptions& options);

  // Throws Error if the network needs more memory than there may be.
  WholeValues run(RegionSource& image, const std::string& output) const;

 private:
  std::shared_ptr<const Runner> runner_;
  WholeOptions options_;
};

}  // namespace vig
