// The maps of the backbones of dense prediction against tensors of their original code.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "support/golden_files.h"
#include "vig/verify/golden_case.h"
#include "vig/verify/verify.h"

namespace vig::test {
namespace {

// Files of cases of backbones.
std::vector<std::string> backbone_cases() {
  std::vector<std::string> files;
  for (const std::string& file : dense_files()) {
    const std::string name = std::filesystem::path(file).stem().string();
    if (name.find("-adapter-") != std::string::npos ||
        name.find("-pyramid-") != std::string::npos) {
      files.push_back(file);
    }
  }
  return files;
}

class Backbones : public testing::TestWithParam<std::string> {};

TEST_P(Backbones, HaveTheOriginalsMaps) {
  for (const int threads : {1, 3}) {
    VerifyOptions options;
    options.threads = threads;
    options.tolerance = 1e-5;
    const CaseReport report = verify_case(GetParam(), options);
    EXPECT_GE(report.tensors.size(), 10u);
    for (const TensorCheck& check : report.tensors) {
      EXPECT_TRUE(check.within) << check.name << ": " << check.relative;
      EXPECT_GT(check.largest, 0) << check.name;
    }
    const auto maps = std::ranges::count_if(
        report.tensors, [](const TensorCheck& check) { return check.name.starts_with("output"); });
    // Of VRWKV both the formula and the released kernel.
    EXPECT_EQ(maps, report.kind.starts_with("vrwkv") ? 8 : 4);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Backbones, testing::ValuesIn(backbone_cases()), [](const auto& test) {
  std::string name = std::filesystem::path(test.param).stem().string();
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(Backbones, EveryBaselineHasACase) {
  std::set<std::string> families;
  for (const std::string& file : backbone_cases()) {
    families.insert(std::string(open_golden_case(file).spec.family));
  }
  for (const char* family :
       {"vit_upernet", "vit_maskrcnn", "vrwkv_upernet", "vrwkv_maskrcnn", "vim_upernet"}) {
    EXPECT_TRUE(families.contains(family)) << family;
  }
}

}  // namespace
}  // namespace vig::test
