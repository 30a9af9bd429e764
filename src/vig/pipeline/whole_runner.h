// The network on one whole image, in memory where that is allowed, by segments where not.
#pragma once

#include <memory>
#include <string>

#include "vig/pipeline/whole_image.h"

namespace vig {

class Runner;

class WholeRunner {
 public:
  WholeRunner(std::shared_ptr<const Runner> runner, const WholeOptions& options);

  // Throws Error if the network needs more memory than there may be, and for values that are not
  // finite.
  WholeValues run(RegionSource& image, const std::string& output) const;

 private:
  WholeValues compute(RegionSource& image, const std::string& output) const;

  std::shared_ptr<const Runner> runner_;
  WholeOptions options_;
};

}  // namespace vig
