// Suppression against the original operator: the same boxes in the same order.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "golden/operator_case.h"
#include "vig/kernels/reference/nms.h"

namespace vig {
namespace {

using test::OperatorCase;

std::vector<int> integers(const OperatorCase& golden, const std::string& name) {
  const TensorView& view = golden.view(name);
  const auto* values = static_cast<const int64_t*>(view.data);
  return {values, values + view.shape.elements()};
}

TEST(NmsGolden, MatchesTheGoldenCase) {
  const OperatorCase golden("nms", "dense");
  const std::vector<float> boxes = golden.read("boxes"), scores = golden.read("scores");
  const auto count = static_cast<int64_t>(scores.size());
  for (const auto& [name, threshold] : {std::pair("0.3", 0.3f), {"0.5", 0.5f}, {"0.7", 0.7f}}) {
    const std::vector<int> want = integers(golden, std::string("keep/iou") + name);
    EXPECT_EQ(nms(boxes.data(), scores.data(), count, threshold), want) << name;
    EXPECT_EQ(reference::nms(boxes.data(), scores.data(), count, threshold), want) << name;
  }
  const std::vector<int> labels = integers(golden, "idxs");
  for (const auto& [name, threshold] : {std::pair("0.5", 0.5f), {"0.7", 0.7f}}) {
    EXPECT_EQ(nms_by_class(boxes.data(), scores.data(), labels.data(), count, threshold),
              integers(golden, std::string("keep_batched/iou") + name))
        << name;
  }
}

// The filter of final detections: every box and class with a score above 0.05, by class, the
// best 30.
TEST(NmsGolden, MatchesTheCaseOfManyClasses) {
  const OperatorCase golden("multiclass-nms", "dense");
  const std::vector<float> boxes = golden.read("boxes"), scores = golden.read("scores");
  const std::vector<float> dets = golden.read("dets");
  const int classes = static_cast<int>(golden.view("scores").shape[1]) - 1;
  std::vector<float> candidates, candidate_scores;
  std::vector<int> labels;
  for (size_t n = 0; n < scores.size() / static_cast<size_t>(classes + 1); ++n) {
    for (int label = 0; label < classes; ++label) {
      const float score = scores[n * static_cast<size_t>(classes + 1) + static_cast<size_t>(label)];
      if (!(score > 0.05f)) continue;
      const float* box =
          boxes.data() + (n * static_cast<size_t>(classes) + static_cast<size_t>(label)) * 4;
      candidates.insert(candidates.end(), box, box + 4);
      candidate_scores.push_back(score);
      labels.push_back(label);
    }
  }
  std::vector<int> kept = nms_by_class(candidates.data(), candidate_scores.data(), labels.data(),
                                       static_cast<int64_t>(labels.size()), 0.5f);
  ASSERT_GE(kept.size(), 30u);
  const std::vector<int> want = integers(golden, "labels");
  for (size_t i = 0; i < 30; ++i) {
    const auto number = static_cast<size_t>(kept[i]);
    EXPECT_EQ(labels[number], want[i]);
    EXPECT_EQ(candidate_scores[number], dets[5 * i + 4]);
    for (size_t k = 0; k < 4; ++k) EXPECT_EQ(candidates[4 * number + k], dets[5 * i + k]);
  }
}

}  // namespace
}  // namespace vig
