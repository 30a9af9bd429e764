// Single operators against tensors of their original code, by `vig verify`'s own means: sizes and
// options are those of the case's files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "support/golden_files.h"
#include "vig/verify/golden_case.h"
#include "vig/verify/operators.h"
#include "vig/verify/verify.h"

namespace vig::test {
namespace {

std::vector<std::string> operator_cases() {
  std::vector<std::string> files;
  for (const std::vector<std::string>& some :
       {dense_files(), golden_files("operators", "operators")}) {
    for (const std::string& file : some) {
      const GoldenCase golden = open_golden_case(file);
      if (golden.kind == GoldenCase::Kind::kOperator) files.push_back(file);
    }
  }
  return files;
}

TEST(Operators, HaveTheOriginalsValues) {
  size_t checked = 0;
  std::set<std::string> training;
  for (const std::string& file : operator_cases()) {
    const std::string name = std::filesystem::path(file).stem().string();
    VerifyOptions options;
    options.tolerance = 1e-5;
    options.threads = 2;
    if (is_training_operator(open_golden_case(file).description)) {
      EXPECT_NE(verify_case(file, options).skipped.find("training"), std::string::npos) << name;
      training.insert(name);
      continue;
    }
    const CaseReport report = verify_case(file, options);
    EXPECT_EQ(report.kind, "operator");
    EXPECT_GE(report.tensors.size(), 1u) << name;
    for (const TensorCheck& check : report.tensors) {
      EXPECT_TRUE(check.within) << name << ", " << check.name << ": " << check.relative;
    }
    ++checked;
  }
  EXPECT_GE(checked, 25u);
  EXPECT_EQ(training, (std::set<std::string>{"assign", "mask-target", "schedule"}));
}

}  // namespace
}  // namespace vig::test
