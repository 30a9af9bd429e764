#include "vig/torch/tensor_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <bit>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vig/base/buffer.h"

namespace vig::train {
namespace {

constexpr size_t kSmallest = 1024;

// Four sizes for every power of two: at most a quarter of a block is left unused.
size_t block_bytes(size_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  const size_t quarter = std::bit_floor(bytes - 1) / 4;
  return (bytes + quarter - 1) / quarter * quarter;
}

// The address of the memory is all that is handed out: LibTorch's own library calls ask for that.
class Pool final : public c10::Allocator {
 public:
  // Never destroyed: tensors in static variables may be freed after everything else.
  static Pool& instance() {
    static Pool& pool = *new Pool;
    return pool;
  }

  // Without `override`: LibTorch 1 declares the first of these, later ones the other two.
  c10::DataPtr allocate(size_t bytes) const {
    void* data = bytes == 0 ? nullptr : take(block_bytes(bytes));
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DataPtr allocate(size_t bytes) { return std::as_const(*this).allocate(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

 private:
  void* take(size_t size) const {
    const std::lock_guard lock(mutex_);
    auto& blocks = free_[size];
    Buffer block;
    if (blocks.empty()) {
      block = Buffer(size);
    } else {
      block = std::move(blocks.back());
      blocks.pop_back();
    }
    void* data = block.data();
    used_.emplace(data, std::move(block));
    return data;
  }

  static void release(void* data) {
    if (data == nullptr) return;
    const Pool& pool = instance();
    const std::lock_guard lock(pool.mutex_);
    auto block = pool.used_.extract(data);
    pool.free_[block.mapped().bytes()].push_back(std::move(block.mapped()));
  }

  mutable std::mutex mutex_;
  mutable std::unordered_map<size_t, std::vector<Buffer>> free_;  // by size
  mutable std::unordered_map<void*, Buffer> used_;
};

}  // namespace

void keep_tensor_memory() { c10::SetCPUAllocator(&Pool::instance(), /*priority=*/100); }

}  // namespace vig::train
