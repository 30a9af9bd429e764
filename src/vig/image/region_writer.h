// Images of any size written band by band, in memory that does not depend on their height.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "vig/image/region_source.h"

namespace vig {

// Where bytes go: appended one after another, and in the end once over the first ones.
struct ByteSink {
  std::function<void(const void* data, size_t bytes)> write;
  std::function<void(const void* data, size_t bytes)> rewrite_begin;
};

// A sink into a file class with these two functions, such as AtomicFile, which outlives it.
template <typename File>
ByteSink byte_sink(File& file) {
  return {[&file](const void* data, size_t bytes) { file.write(data, bytes); },
          [&file](const void* data, size_t bytes) { file.rewrite_begin(data, bytes); }};
}

struct TiffBandFormat {
  int64_t width = 0, height = 0;
  int channels = 3;  // 1: labels or gray, 3: RGB
  // Colours of labels; empty: gray. Labels without a colour are black.
  std::vector<std::array<uint8_t, 3>> palette = {};
  std::optional<double> microns_per_pixel = {};
  std::optional<GeoTransform> geo_transform = {};
};

// A tiled, deflated, pyramidal BigTIFF. Each level of the pyramid has half the sides of the one
// before: of RGB the mean of 2x2 pixels, of one channel the upper left one. Memory: two rows of
// tiles of each level and 16 bytes per tile.
class TiffBandWriter {
 public:
  // Throws Error (usage) for a size below 1x1 or a side above 2^31 - 1.
  TiffBandWriter(ByteSink sink, const TiffBandFormat& format);
  ~TiffBandWriter();
  TiffBandWriter(const TiffBandWriter&) = delete;
  TiffBandWriter& operator=(const TiffBandWriter&) = delete;

  // The next `count` rows, `width * channels` bytes each. Throws Error (usage) for too many.
  void write_rows(const uint8_t* rows, int64_t count);
  int64_t rows_written() const;
  // Completes the file; the sink's owner commits it. Rows that were not written are zero.
  void finish();

 private:
  struct Level;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vig
