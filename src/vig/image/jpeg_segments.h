// The segments of a JPEG stream before its first scan, found without libjpeg.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vig {

class JpegSegments {
 public:
  explicit JpegSegments(std::span<const uint8_t> jpeg) : jpeg_(jpeg) {}

  // The next segment, if there is one: its marker and its content without the length. Bytes between
  // segments are passed over, as libjpeg does. Takes time in proportion to the bytes.
  bool next();
  uint8_t marker() const { return marker_; }
  std::span<const uint8_t> data() const { return data_; }

 private:
  std::span<const uint8_t> jpeg_;
  size_t at_ = 0;
  uint8_t marker_ = 0;
  std::span<const uint8_t> data_;
};

}  // namespace vig
