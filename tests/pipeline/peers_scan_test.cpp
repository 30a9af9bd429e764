// Golden cases of the families with recurrences, from their original code.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/peers.h"
#include "vig/pipeline/verify.h"

namespace vig::test {
namespace {

class ScanPeers : public testing::TestWithParam<std::string> {};

TEST_P(ScanPeers, HaveTheOriginalsNumbers) {
  for (const int threads : {1, 3}) {
    VerifyOptions options;
    options.threads = threads;
    options.tolerance = 2e-5;
    const CaseReport report = verify_case(GetParam(), options);
    for (const TensorCheck& check : report.tensors) {
      EXPECT_TRUE(check.within) << check.name << ": " << check.relative;
      EXPECT_GT(check.largest, 0) << check.name;
    }
    EXPECT_GE(report.tensors.size(), 4u);
    const bool two = GetParam().find("vrwkv") != std::string::npos;  // formula and released kernel
    EXPECT_EQ(std::ranges::count_if(report.tensors,
                                    [](const auto& t) { return t.name.starts_with("output"); }),
              two ? 2 : 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScanPeers, testing::ValuesIn(peer_cases({"vim", "vrwkv", "vmamba"})),
                         [](const auto& parameter) {
                           return std::filesystem::path(parameter.param).stem().string();
                         });

}  // namespace
}  // namespace vig::test
