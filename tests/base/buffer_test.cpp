#include "vig/base/buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace vig::test {
namespace {

TEST(Buffer, IsAligned) {
  for (const size_t bytes :
       {size_t{0}, size_t{1}, size_t{1000}, size_t{1} << 19, size_t{3} << 20}) {
    Buffer buffer(bytes);
    EXPECT_EQ(buffer.bytes(), bytes);
    ASSERT_NE(buffer.data(), nullptr);
    // From half a megabyte on whole large pages.
    const uintptr_t alignment = bytes >= size_t{1} << 19 ? uintptr_t{2} << 20 : Buffer::kAlignment;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % alignment, 0u) << bytes;
    std::memset(buffer.data(), 1, bytes);
  }
}

TEST(Buffer, SizesThatWrapAroundAreRefused) {
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - (size_t{1} << 20), SIZE_MAX / 2}) {
    EXPECT_THROW(Buffer{bytes}, std::bad_alloc) << bytes;
  }
}

}  // namespace
}  // namespace vig::test
