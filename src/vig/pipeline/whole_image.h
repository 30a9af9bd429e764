// A classifier's network on whole images at their own size: pixels are normalised, nothing is
// resized or cropped. Images are read line by line, and memory is bounded; results are the same
// bits whatever the bound (runtime/segmented_session.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vig {

class RegionSource;

struct WholeOptions {
  // Of the process, as far as the network decides on it; not given: what is free.
  std::optional<uint64_t> max_memory = {};
  // Folder of a file without a name for what exceeds the memory; empty: that of temporary files.
  std::string scratch = {};
  uint64_t read_bytes = 0;  // that reading an image takes beside what is there once it is open
  // Opens an image of the list; not given: it is loaded.
  std::function<std::unique_ptr<RegionSource>(size_t sample)> open = {};
};

// An output of the network on a whole image, [height, width, channels]. The values are where the
// run left them, in memory or in its file, and are read in parts.
struct WholeValues {
  int height = 0, width = 0, channels = 0;
  std::function<void(int first, int last, float* out)> read = {};  // lines [first, last)

  std::vector<float> all() const;
  // Calls `take` with all values in order, a few lines at a time.
  void for_each(const std::function<void(std::span<const float> values)>& take) const;
};

}  // namespace vig
