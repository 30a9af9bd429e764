// What a backward pass of LibTorch's own operations keeps, counted in bytes on the CPU: a batch of
// 128 images must fit a card of 24 GB.
#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "vig/models/family.h"
#include "vig/torch/forward.h"
#include "vig/torch/parameters.h"
#include "vig/weights/load.h"

namespace vig::test {
namespace {

// Bytes that are alive, and the size of each block. LibTorch asks for memory whose address is all
// that frees it.
std::mutex mutex;
std::unordered_map<void*, int64_t> blocks;
int64_t live = 0;

void release(void* data) {
  const std::lock_guard lock(mutex);
  const auto block = blocks.find(data);
  if (block == blocks.end()) return;
  live -= block->second;
  blocks.erase(block);
  std::free(data);
}

class Counting final : public c10::Allocator {
 public:
  // Without `override`: LibTorch 1 declares the first of these, later ones the other two.
  c10::DataPtr allocate(size_t bytes) const {
    constexpr size_t kAlignment = 64;
    void* data = std::aligned_alloc(
        kAlignment, (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment);
    const std::lock_guard lock(mutex);
    blocks[data] = static_cast<int64_t>(bytes);
    live += static_cast<int64_t>(bytes);
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DataPtr allocate(size_t bytes) { return std::as_const(*this).allocate(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
};

TEST(PlainMemory, ABatchOf128FitsACard) {
  constexpr int kPriority = 50;  // below that of keep_tensor_memory
  c10::Allocator* before = c10::GetCPUAllocator();
  static Counting& counting = *new Counting;  // tensors in static variables may outlive all
  c10::SetCPUAllocator(&counting, kPriority);
  if (c10::GetCPUAllocator() != &counting) GTEST_SKIP() << "another test keeps tensors' memory";
  {
    constexpr int64_t kBatch = 2;
    const Graph graph = build_graph(find_model("vig_t"), 224, 224);
    train::Parameters parameters(graph.params, *random_weights(graph.params, 1), at::kCPU);
    const at::Tensor images = at::zeros({kBatch, 224, 224, 3}, at::kFloat);
    train::ForwardOptions options;
    options.kernels = false;
    const int64_t start = live;
    const at::Tensor logits = train::forward_logits(graph, parameters.views(), images, options);
    const double kept = static_cast<double>(live - start) / kBatch;
    RecordProperty("bytes_per_image", std::to_string(kept));
    EXPECT_GT(kept, 10e6) << "a graph to differentiate is there";
    EXPECT_LT(128 * kept, 24e9 - 2e9) << kept << " bytes an image; 2 GB for weights and one scan";
    logits.sum().backward();
  }
  c10::SetCPUAllocator(before, kPriority);
}

}  // namespace
}  // namespace vig::test
