// Memory of tensors that is kept for the next ones.
#include "vig/torch/tensor_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace vig::test {
namespace {

const void* address_of(int64_t bytes) { return at::empty({bytes}, at::kByte).data_ptr(); }

// Four sizes of blocks to a power of two: from 5 to 6 quarters all tensors have the same.
TEST(TensorMemory, FreedBlocksServeTensorsOfAboutTheirSize) {
  train::keep_tensor_memory();
  constexpr int64_t kQuarter = 1 << 12;
  const void* block = address_of(6 * kQuarter);
  EXPECT_EQ(address_of(6 * kQuarter), block);
  EXPECT_EQ(address_of(6 * kQuarter - 1), block);
  EXPECT_EQ(address_of(5 * kQuarter + 1), block) << "the smallest of them";
  const at::Tensor used = at::empty({6 * kQuarter}, at::kByte);
  EXPECT_EQ(used.data_ptr(), block);
  EXPECT_NE(address_of(6 * kQuarter), block) << "it is in use";
  EXPECT_NE(address_of(6 * kQuarter + 1), address_of(6 * kQuarter)) << "too small for that one";
  EXPECT_EQ(at::empty({0}, at::kByte).numel(), 0);
}

}  // namespace
}  // namespace vig::test
