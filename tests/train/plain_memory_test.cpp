// What a backward pass of LibTorch's own operations keeps, counted in bytes on the CPU: a batch of
// 128 images must fit a card of 24 GB.
#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <utility>

#include "vig/models/family.h"
#include "vig/torch/forward.h"
#include "vig/torch/parameters.h"
#include "vig/weights/load.h"

namespace vig::test {
namespace {

std::atomic<int64_t> live{0};

struct Block {
  c10::DataPtr data;
  int64_t bytes;
};

void release(void* block) {
  const std::unique_ptr<Block> owned(static_cast<Block*>(block));
  live -= owned->bytes;
}

// Counts what is alive of another allocator's memory.
class Counting final : public c10::Allocator {
 public:
  explicit Counting(c10::Allocator* inner) : inner_(inner) {}
  // Without `override`: LibTorch 1 declares the first of these, later ones the other two.
  c10::DataPtr allocate(size_t bytes) const {
    auto block =
        std::make_unique<Block>(Block{inner_->allocate(bytes), static_cast<int64_t>(bytes)});
    void* data = block->data.get();
    live += block->bytes;
    return {data, block.release(), &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DataPtr allocate(size_t bytes) { return std::as_const(*this).allocate(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }

 private:
  c10::Allocator* inner_;
};

TEST(PlainMemory, ABatchOf128FitsACard) {
  constexpr int kPriority = 50;  // below that of keep_tensor_memory
  c10::Allocator* before = c10::GetCPUAllocator();
  Counting counting(before);
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
