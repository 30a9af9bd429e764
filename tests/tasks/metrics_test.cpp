#include "vig/tasks/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/errors.h"
#include "vig/base/random.h"
#include "vig/tasks/classification.h"

namespace vig::test {
namespace {

using Scores = std::vector<float>;

TEST(Metrics, CountsByHand) {
  ClassificationMetrics metrics(3);
  metrics.add(Scores{2, 1, 0}, 0);  // right
  metrics.add(Scores{2, 1, 0}, 1);  // 1 taken for 0
  metrics.add(Scores{0, 1, 5}, 2);  // right
  metrics.add(Scores{0, 1, 5}, 0);  // 0 taken for 2
  EXPECT_EQ(metrics.count, 4);
  EXPECT_EQ(metrics.top1(), 0.5);
  EXPECT_EQ(metrics.top5(), 1.0);
  const double near = std::log(std::exp(2) + std::exp(1) + 1);
  const double far = std::log(std::exp(5) + std::exp(1) + 1);
  EXPECT_NEAR(metrics.loss(), (near - 2 + near - 1 + far - 5 + far) / 4, 1e-12);
  EXPECT_EQ(metrics.confused(1, 0), 1);
  EXPECT_EQ(metrics.confused(0, 1), 0);
  const std::vector<ClassMetrics> classes = metrics.per_class();
  ASSERT_EQ(classes.size(), 3u);
  EXPECT_EQ(classes[0], (ClassMetrics{.count = 2, .predicted = 2, .correct = 1}));
  EXPECT_EQ(classes[0].precision(), 0.5);
  EXPECT_EQ(classes[0].recall(), 0.5);
  EXPECT_EQ(classes[1], (ClassMetrics{.count = 1, .predicted = 0, .correct = 0}));
  EXPECT_TRUE(std::isnan(classes[1].precision()));
  EXPECT_EQ(classes[1].recall(), 0.0);
  EXPECT_EQ(classes[2], (ClassMetrics{.count = 1, .predicted = 2, .correct = 1}));
}

TEST(Metrics, EveryClassCountsTheSame) {
  ClassificationMetrics metrics(4);
  for (int i = 0; i < 8; ++i) metrics.add(Scores{3, 1, 0, 0}, 0);  // 8 of 8
  metrics.add(Scores{3, 1, 0, 0}, 1);                              // 1 taken for 0
  metrics.add(Scores{1, 3, 0, 0}, 1);                              // right
  metrics.add(Scores{0, 0, 3, 1}, 1);                              // 1 taken for 2
  EXPECT_DOUBLE_EQ(metrics.top1(), 9.0 / 11);
  EXPECT_DOUBLE_EQ(metrics.balanced_accuracy(), (1 + 1.0 / 3) / 2);  // 2 and 3 show nowhere
  // Class 2 was predicted and never right; class 3 is neither shown nor predicted.
  EXPECT_DOUBLE_EQ(metrics.macro_f1(), (16.0 / 17 + 2.0 / 4 + 0) / 3);
  EXPECT_DOUBLE_EQ(metrics.per_class()[0].f1(), 16.0 / 17);
  EXPECT_TRUE(std::isnan(metrics.per_class()[3].f1()));
}

TEST(Metrics, FiveOfFiveIsNoAchievement) {
  EXPECT_FALSE(ClassificationMetrics(2).has_top5());
  EXPECT_FALSE(ClassificationMetrics(5).has_top5());
  EXPECT_TRUE(ClassificationMetrics(6).has_top5());
}

TEST(Metrics, OfNothingAreNaN) {
  const ClassificationMetrics metrics(2);
  EXPECT_TRUE(std::isnan(metrics.top1()));
  EXPECT_TRUE(std::isnan(metrics.top5()));
  EXPECT_TRUE(std::isnan(metrics.loss()));
  EXPECT_EQ(metrics.per_class().size(), 2u);
}

// Everything again from the ordered list that `classify` prints. Few distinct scores, so that many
// are equal.
TEST(Metrics, AgreeWithClassify) {
  RandomStream random(3);
  for (const int classes : {1, 2, 4, 5, 6, 37}) {
    ClassificationMetrics metrics(classes);
    int top1 = 0, top5 = 0;
    double loss = 0;
    std::vector<std::vector<int64_t>> table(classes, std::vector<int64_t>(classes));
    for (int image = 0; image < 200; ++image) {
      Scores logits;
      for (int i = 0; i < classes; ++i) logits.push_back(static_cast<float>(random.below(4)));
      const int label = static_cast<int>(random.below(static_cast<uint64_t>(classes)));
      metrics.add(logits, label);
      const auto scores = decode_classes(logits, classes, {}).scores;
      for (int rank = 0; rank < classes; ++rank) {
        if (scores[rank].index != label) continue;
        top1 += rank < 1;
        top5 += rank < 5;
        loss -= std::log(scores[rank].probability);
      }
      ++table[label][scores[0].index];
    }
    EXPECT_EQ(metrics.count, 200);
    EXPECT_EQ(metrics.top1_hits, top1);
    EXPECT_EQ(metrics.top5_hits, top5);
    EXPECT_NEAR(metrics.loss(), loss / 200, 1e-5);
    for (int label = 0; label < classes; ++label) {
      for (int predicted = 0; predicted < classes; ++predicted) {
        EXPECT_EQ(metrics.confused(label, predicted), table[label][predicted]);
      }
    }
  }
}

TEST(Metrics, LargeScoresDoNotOverflow) {
  ClassificationMetrics metrics(2);
  const float largest = std::numeric_limits<float>::max();
  metrics.add(Scores{largest, -largest}, 1);
  EXPECT_NEAR(metrics.loss() / (2.0 * largest), 1, 1e-12);
  metrics = ClassificationMetrics(2);
  metrics.add(Scores{-largest, -largest}, 0);
  EXPECT_NEAR(metrics.loss(), std::log(2.0), 1e-12);
}

TEST(Metrics, RefuseWhatIsNoScoreAndCountNothing) {
  ClassificationMetrics metrics(2);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {nan, infinity, -infinity}) {
    expect_error(ErrorCode::kInput, {"class 1", "finite"}, [&] { metrics.add(Scores{1, bad}, 0); });
  }
  expect_error(ErrorCode::kInput, {"3 scores", "2 classes"}, [&] {
    metrics.add(Scores{1, 2, 3}, 0);
  });
  for (const int label : {-1, 2}) {
    expect_error(ErrorCode::kInput, {std::to_string(label), "0 to 1"}, [&] {
      metrics.add(Scores{1, 2}, label);
    });
  }
  EXPECT_EQ(metrics, ClassificationMetrics(2));
}

}  // namespace
}  // namespace vig::test
