#include "vig/train/tensor_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <bit>
#include <mutex>
#include <unordered_map>
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

class Pool final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) const override {
    if (bytes == 0) return {nullptr, nullptr, &release, c10::Device(c10::DeviceType::CPU)};
    const size_t size = block_bytes(bytes);
    auto block = take(size);
    void* data = block->data();
    return {data, block.release(), &release, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }

 private:
  std::unique_ptr<Buffer> take(size_t size) const {
    {
      const std::lock_guard lock(mutex_);
      auto& blocks = free_[size];
      if (!blocks.empty()) {
        std::unique_ptr<Buffer> block = std::move(blocks.back());
        blocks.pop_back();
        return block;
      }
    }
    return std::make_unique<Buffer>(size);
  }

  static void release(void* context) {
    if (context == nullptr) return;
    std::unique_ptr<Buffer> block(static_cast<Buffer*>(context));
    const Pool& pool = instance();
    const std::lock_guard lock(pool.mutex_);
    pool.free_[block->bytes()].push_back(std::move(block));
  }

  mutable std::mutex mutex_;
  mutable std::unordered_map<size_t, std::vector<std::unique_ptr<Buffer>>> free_;

 public:
  // Never destroyed: tensors in static variables may be freed after everything else.
  static Pool& instance() {
    static Pool& pool = *new Pool;
    return pool;
  }
};

}  // namespace

void keep_tensor_memory() { c10::SetCPUAllocator(&Pool::instance(), /*priority=*/100); }

}  // namespace vig::train
