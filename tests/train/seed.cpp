// LibTorch's generator starts anywhere in a new process. Here each test starts with the same seed,
// alone or after others, so that none passes or fails by luck.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace vig::test {
namespace {

class Seed : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { at::manual_seed(1); }
};

[[maybe_unused]] const bool kSeeded = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new Seed);
  return true;
}();

}  // namespace
}  // namespace vig::test
