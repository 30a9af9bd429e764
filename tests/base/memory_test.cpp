#include "vig/base/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

namespace vig::test {
namespace {

TEST(Memory, IsInBytesAndThatInUse) {
  constexpr size_t kTouched = size_t{32} << 20, kReserved = size_t{1} << 30;
  reset_process_peak();
  const std::vector<char> touched(kTouched, 1);
  // Never touched, so that it takes addresses and no memory.
  void* const reserved =
      ::mmap(nullptr, kReserved, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(reserved, MAP_FAILED);
  const uint64_t now = process_memory(), peak = process_peak();
  ::munmap(reserved, kReserved);
  EXPECT_GE(now, kTouched) << static_cast<int>(touched.back());
  EXPECT_LE(now, peak);
  EXPECT_LT(now, kReserved);
  EXPECT_GT(physical_memory(), now);
}

}  // namespace
}  // namespace vig::test
