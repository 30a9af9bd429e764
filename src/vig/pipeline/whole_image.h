// A classifier's network on whole images at their own size: pixels are normalised, nothing is
// resized or cropped. Images are read line by line, and memory is bounded; results are the same
// bits whatever the bound (runtime/segmented_session.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vig/pipeline/pipeline.h"

namespace vig {

class RegionSource;
class Runner;

struct WholeOptions {
  // Of the process, as far as the network decides on it; not given: what is free.
  std::optional<uint64_t> max_memory = {};
  // Folder of a file without a name for what exceeds the memory; empty: that of temporary files.
  std::string scratch = {};
  uint64_t read_bytes = 0;  // that reading an image takes beside what is there once it is open
  // Opens an image of the list; not given: it is loaded.
  std::function<std::unique_ptr<RegionSource>(size_t sample)> open = {};
};

// An output of the network, [height, width, channels].
struct WholeValues {
  int height = 0, width = 0, channels = 0;
  std::vector<float> values;
};

class WholeRunner {
 public:
  WholeRunner(std::shared_ptr<const Runner> runner, const WholeOptions& options);

  const WholeOptions& options() const { return options_; }
  // Throws Error if the network needs more memory than there may be.
  WholeValues run(RegionSource& image, const std::string& output) const;

 private:
  std::shared_ptr<const Runner> runner_;
  WholeOptions options_;
};

}  // namespace vig
