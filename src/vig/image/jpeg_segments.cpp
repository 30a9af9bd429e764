#include "vig/image/jpeg_segments.h"

namespace vig {

bool JpegSegments::next() {
  constexpr uint8_t kStartOfScan = 0xDA, kEndOfImage = 0xD9;
  constexpr size_t kLengthBytes = 2;
  for (;;) {
    // A marker is 0xFF and a byte that is neither 0 nor 0xFF, which are stuffing and padding.
    while (at_ + 1 < jpeg_.size() &&
           (jpeg_[at_] != 0xFF || jpeg_[at_ + 1] == 0 || jpeg_[at_ + 1] == 0xFF)) {
      ++at_;
    }
    if (at_ + 1 >= jpeg_.size()) return false;
    marker_ = jpeg_[at_ + 1];
    at_ += 2;
    if (marker_ == kStartOfScan || marker_ == kEndOfImage) return false;
    const bool without_length = (marker_ >= 0xD0 && marker_ <= 0xD8) || marker_ == 0x01;
    if (!without_length) break;
  }
  if (jpeg_.size() - at_ < kLengthBytes) return false;
  const size_t length = static_cast<size_t>(jpeg_[at_]) << 8 | jpeg_[at_ + 1];
  if (length < kLengthBytes || length > jpeg_.size() - at_) return false;
  data_ = jpeg_.subspan(at_ + kLengthBytes, length - kLengthBytes);
  at_ += length;
  return true;
}

}  // namespace vig
