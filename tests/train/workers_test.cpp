#include "vig/train/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace vig::test {
namespace {

// Denormals would slow everything down, and the engine has none.
TEST(Workers, TakeDenormalsForZero) {
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

TEST(Workers, TheFirstErrorIsThrownWhenAllAreDone) {
  train::Workers workers(3);
  std::atomic<int> done = 0;
  const auto fails = [&](int worker) {
    ++done;
    if (worker > 0) throw std::runtime_error("worker " + std::to_string(worker));
  };
  for (int round = 1; round <= 2; ++round) {
    try {
      workers.each(fails);
      ADD_FAILURE() << "no error";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "worker 1");
    }
    EXPECT_EQ(done, 3 * round);
  }
  EXPECT_NO_THROW(workers.each([](int) {})) << "an error is thrown once";
}

TEST(Workers, PartsAreWholeGrainsAndCoverEverything) {
  train::Workers workers(3);
  for (const int64_t count : {0, 1, 7, 8, 9, 64, 65}) {
    std::vector<int> seen(static_cast<size_t>(count), 0);
    workers.parts(count, 8, [&](int64_t first, int64_t last) {
      EXPECT_EQ(first % 8, 0);
      for (int64_t i = first; i < last; ++i) ++seen[static_cast<size_t>(i)];
    });
    EXPECT_EQ(seen, std::vector<int>(static_cast<size_t>(count), 1)) << count;
  }
}

}  // namespace
}  // namespace vig::test
