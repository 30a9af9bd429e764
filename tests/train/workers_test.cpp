#include "vig/train/workers.h"

#include <gtest/gtest.h>

#include <vector>

namespace vig::test {
namespace {

// Numbers that fade away would slow everything down, and the engine has none.
TEST(Workers, TakeTheSmallestNumbersForZero) {
  train::Workers workers(3);
  std::vector<float> products(3, 1);
  workers.each([&](int worker) {
    volatile float small = 1e-30f;
    products[static_cast<size_t>(worker)] = small * 1e-10f;
  });
  EXPECT_EQ(products, std::vector<float>(3, 0));
  volatile float small = 1e-30f;
  EXPECT_GT(small * 1e-10f, 0) << "outside of the work nothing changes";
}

}  // namespace
}  // namespace vig::test
