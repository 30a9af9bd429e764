// The baseline families against tensors of their original code.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/peers.h"
#include "vig/models/family.h"
#include "vig/verify/verify.h"

namespace vig::test {
namespace {

class Peers : public testing::TestWithParam<std::string> {};

// The references were computed in float32 as well.
TEST_P(Peers, HaveTheOriginalsValues) {
  for (const int threads : {1, 3}) {
    VerifyOptions options;
    options.threads = threads;
    options.tolerance = 1e-5;
    const CaseReport report = verify_case(GetParam(), options);
    EXPECT_EQ(report.kind, case_family(GetParam()));
    EXPECT_GE(report.tensors.size(), 4u);
    for (const TensorCheck& check : report.tensors) {
      EXPECT_TRUE(check.within) << check.name << ": " << check.relative;
      EXPECT_GT(check.largest, 0) << check.name;
    }
    // Of VRWKV both the formula and the released kernel, of LocalMamba two inverses of columns.
    const std::string name = case_name(GetParam());
    const bool two =
        report.kind == "vrwkv" || name == "localvmamba_rect" || name == "localvim_rect";
    EXPECT_EQ(std::ranges::count_if(report.tensors,
                                    [](const auto& t) { return t.name.starts_with("output"); }),
              two ? 2 : 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Peers, testing::ValuesIn(peer_cases()),
                         [](const auto& test) { return case_name(test.param); });

TEST(Peers, EveryFamilyHasACase) {
  std::set<std::string> families;
  for (const std::string& file : peer_cases()) families.insert(case_family(file));
  for (const Family& family : model_families()) {
    if (family.name.starts_with("vig")) continue;  // theirs are in tests/fixtures/golden itself
    if (family.models[0].config->task() != ModelTask::kClassify) continue;  // see dense_test.cpp
    EXPECT_TRUE(families.contains(std::string(family.name))) << family.name;
  }
}

}  // namespace
}  // namespace vig::test
