// Memory for tensors: aligned for SIMD, in large pages where the system has them. Not initialised.
#pragma once

#include <cstddef>
#include <memory>

namespace vig {

class Buffer {
 public:
  static constexpr size_t kAlignment = 64;

  Buffer() = default;
  explicit Buffer(size_t bytes);

  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }
  float* floats() { return static_cast<float*>(data_.get()); }
  const float* floats() const { return static_cast<const float*>(data_.get()); }
  size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* data) const;
  };
  std::unique_ptr<void, Free> data_;
  size_t bytes_ = 0;
};

}  // namespace vig
