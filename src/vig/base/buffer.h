// Memory with the alignment SIMD code and oneDNN like. Not initialised.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstddef>

namespace vig {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t bytes)
      : data_(hwy::AllocateAligned<unsigned char>(bytes == 0 ? 1 : bytes)), bytes_(bytes) {}

  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }
  float* floats() { return reinterpret_cast<float*>(data_.get()); }
  const float* floats() const { return reinterpret_cast<const float*>(data_.get()); }
  size_t bytes() const { return bytes_; }

 private:
  hwy::AlignedFreeUniquePtr<unsigned char[]> data_;
  size_t bytes_ = 0;
};

}  // namespace vig
