// ResNet, ConvNeXt, RegNetY and EfficientNet against what their original code makes.
#include <gtest/gtest.h>

#include "support/peers.h"
#include "vig/pipeline/verify.h"

namespace vig::test {
namespace {

class Convolutional : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Families, Convolutional,
                         testing::Values("resnet", "convnext", "regnet", "efficientnet"),
                         [](const auto& test) { return std::string(test.param); });

// The references were computed in float32 as well.
TEST_P(Convolutional, PassesItsGoldenCases) {
  const std::vector<std::string> files = peer_cases(VIG_TEST_DATA, VIG_SOURCE_DIR, GetParam());
  ASSERT_FALSE(files.empty());
  for (const std::string& file : files) {
    for (const int threads : {1, 3}) {
      VerifyOptions options;
      options.threads = threads;
      options.tolerance = 1e-5;
      const CaseReport report = verify_case(file, options);
      EXPECT_EQ(report.kind, GetParam());
      EXPECT_GE(report.tensors.size(), 6u) << file;
      for (const TensorCheck& check : report.tensors) {
        EXPECT_TRUE(check.within) << file << ", " << check.name << ": " << check.relative;
        EXPECT_GT(check.largest, 0) << file << ", " << check.name;
      }
    }
  }
}

}  // namespace
}  // namespace vig::test
