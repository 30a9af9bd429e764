#include "vig/kernels/denormals.h"

#include <gtest/gtest.h>

namespace vig {
namespace {

// 1e-38 * 0.1 at run time: below what a normal float can be.
bool tiny_products_vanish() {
  volatile float small = 1.2e-38f;
  volatile float product = small * 0.1f;
  return product == 0.0f;
}

TEST(FlushDenormals, HoldsForItsScope) {
  EXPECT_FALSE(tiny_products_vanish());
  {
    const FlushDenormals flush;
    EXPECT_TRUE(tiny_products_vanish());
    {
      const FlushDenormals again;
      EXPECT_TRUE(tiny_products_vanish());
    }
    EXPECT_TRUE(tiny_products_vanish()) << "the inner one must restore what it found";
  }
  EXPECT_FALSE(tiny_products_vanish());
}

}  // namespace
}  // namespace vig
