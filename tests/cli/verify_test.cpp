#include <gtest/gtest.h>

#include "cli/vig.h"
#include "support/golden_case.h"

namespace vig::test {
namespace {

using nlohmann::json;

TEST(VerifyCommand, AllGoldenCasesPass) {
  const RunResult result = vig({"verify", data("golden")});
  expect_success(result);
  EXPECT_NE(result.out.find("14 of 14 cases ok (69 tensors, "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("act/blocks.0.attn.g_norm"), std::string::npos);
  std::vector<std::string> order;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with("): ok")) order.push_back(line);
  }
  EXPECT_EQ(order.size(), 14u);
  EXPECT_TRUE(std::ranges::is_sorted(order)) << result.out;
  EXPECT_EQ(result.out.find("FAILED"), std::string::npos);
}

TEST(VerifyCommand, WholeNetworksOfDensePrediction) {
  const RunResult result = vig({"verify", golden("dense/upernet-mini.safetensors"),
                                golden("dense/maskrcnn-mini.safetensors")});
  expect_success(result);
  EXPECT_NE(result.out.find("2 of 2 cases ok"), std::string::npos) << result.out;
  for (const char* tensor : {"logits_slide", "pred", "dets/1 scores", "det_masks/0"}) {
    EXPECT_NE(result.out.find(tensor), std::string::npos) << tensor;
  }
}

TEST(VerifyCommand, SingleOperators) {
  const RunResult result =
      vig({"verify", golden("dense/nms.safetensors"), golden("dense/vit-adapter-eps.safetensors"),
           golden("dense/schedule.safetensors")});
  expect_success(result);
  EXPECT_NE(result.out.find("keep_batched/iou0.5"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("output/f4"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("2 of 2 cases ok"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("; 1 skipped"), std::string::npos) << result.out;
}

TEST(VerifyCommand, ATamperedCaseFails) {
  const TempDir folder;
  const std::string file = changed_case(golden("vig-mini-linear.safetensors"), folder.path(),
                                        [](std::vector<CaseTensor>& list) {
                                          find_tensor(list, "act/blocks.0.attn").values[5] += 0.01f;
                                        });
  const RunResult result = vig({"verify", golden("bigla-t7.safetensors"), file});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.out.find("FAILED"), std::string::npos);
  EXPECT_NE(result.out.find("1 of 2 cases ok"), std::string::npos) << result.out;
  // The summary has the worst of all lines.
  double worst = 0;
  std::istringstream lines(result.out);
  for (std::string line, name, word; std::getline(lines, line);) {
    if (!line.ends_with("  ok") && !line.ends_with("  FAILED")) continue;
    double error = 0, largest = 0, relative = 0;
    std::istringstream(line) >> name >> error >> largest >> relative;
    EXPECT_NEAR(relative, error / largest, 0.01 * relative) << line;
    worst = std::max(worst, relative);
  }
  const size_t summary = result.out.find("largest relative error ");
  ASSERT_NE(summary, std::string::npos) << result.out;
  EXPECT_EQ(std::stod(result.out.substr(summary + 23)), worst) << result.out;
  EXPECT_GT(worst, 1e-4);
  expect_success(vig({"verify", file, "--tolerance", "0.1"}));
}

TEST(VerifyCommand, Json) {
  const RunResult result = vig({"verify", golden("vigh-mini.safetensors"), "missing.safetensors",
                                "--json", "--threads", "2"});
  expect_complaint(result, 1, "missing.safetensors");
  const json report = json::parse(result.out);
  ASSERT_EQ(report["cases"].size(), 2u);
  EXPECT_EQ(report["cases"][0]["ok"], true);
  EXPECT_EQ(report["cases"][0]["kind"], "vig_h");
  EXPECT_EQ(report["cases"][0]["tensors"].size(), 9u);
  EXPECT_EQ(report["cases"][1]["ok"], false);
}

TEST(VerifyCommand, BrokenCases) {
  const TempDir folder;
  expect_complaint(vig({"verify", folder.path().string()}), 1, "no .safetensors");
  for (const auto& entry : std::filesystem::directory_iterator(data("weights/broken"))) {
    expect_complaint(vig({"verify", entry.path().string()}), 1, entry.path().filename().string());
  }
  expect_complaint(vig({"verify", golden("vig-mini-silu.pth")}), 1, "vig-mini-silu.pth");
}

}  // namespace
}  // namespace vig::test
