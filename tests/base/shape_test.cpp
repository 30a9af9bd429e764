#include "vig/base/shape.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace vig::test {
namespace {

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{3, 4, 5}.elements()), 60);
  EXPECT_EQ((Shape{3, 0, 5}.elements()), 0);
  EXPECT_EQ((Shape{int64_t{1} << 31, int64_t{1} << 31}.elements()), int64_t{1} << 62);
}

TEST(Shape, MoreElementsThanCanBeCountedAreRefused) {
  constexpr int64_t kLarge = int64_t{1} << 32;
  for (const Shape& shape : {Shape{kLarge, kLarge}, Shape{kLarge, kLarge, 3},
                             Shape{kLarge, kLarge / 2}, Shape{3, int64_t{1} << 62}}) {
    expect_error(ErrorCode::kInput, {"63 bits"}, [&] { shape.elements(); });
  }
}

}  // namespace
}  // namespace vig::test
