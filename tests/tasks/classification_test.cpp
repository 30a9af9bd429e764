#include "vig/tasks/classification.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "vig/base/error.h"

namespace vig::test {
namespace {

TEST(Softmax, SumsToOneAndSurvivesLargeScores) {
  std::vector<float> values = {1000.0f, 999.0f, -1000.0f};
  softmax(values);
  EXPECT_NEAR(values[0], 0.7310586f, 1e-6f);
  EXPECT_NEAR(values[1], 0.2689414f, 1e-6f);
  EXPECT_EQ(values[2], 0.0f);
  softmax({});  // nothing to do, nothing to crash on
}

TEST(DecodeClasses, BestFirstWithProbabilitiesOverAllClasses) {
  const std::vector<float> logits = {0.0f, 2.0f, 1.0f};
  const std::vector<std::string> names = {"ape", "bee", "cat"};
  const Classification result = decode_classes(logits, 2, names);
  ASSERT_EQ(result.scores.size(), 2u);
  EXPECT_EQ(result.scores[0].index, 1);
  EXPECT_EQ(result.scores[0].name, "bee");
  EXPECT_EQ(result.scores[0].logit, 2.0f);
  EXPECT_NEAR(result.scores[0].probability, 0.66524096f, 1e-6f);
  EXPECT_EQ(result.scores[1].name, "cat");
  EXPECT_NEAR(result.scores[1].probability, 0.24472848f, 1e-6f);
}

TEST(DecodeClasses, TheTemperatureChangesProbabilitiesAlone) {
  const std::vector<float> logits = {0.0f, 2.0f, 1.0f};
  const Classification result = decode_classes(logits, 2, {}, 0.5);
  EXPECT_EQ(result.scores[0].index, 1);
  EXPECT_EQ(result.scores[0].logit, 2.0f);
  EXPECT_NEAR(result.scores[0].probability, 0.86681333f, 1e-6f);  // of 0, 4 and 2
  const std::vector<float> huge = {-3e38f, 3e38f};
  EXPECT_EQ(decode_classes(huge, 2, {}, 0.01).scores[0].probability, 1.0f);
  EXPECT_EQ(decode_classes(huge, 2, {}, 0.01).scores[1].probability, 0.0f);
}

TEST(DecodeClasses, EqualScoresStandInOrderOfIndex) {
  const std::vector<float> logits(50, 1.0f);
  const Classification result = decode_classes(logits, 50, {});
  for (int i = 0; i < 50; ++i) EXPECT_EQ(result.scores[i].index, i);
  EXPECT_EQ(result.scores[0].name, "");
}

TEST(DecodeClasses, MoreThanThereAreGivesAll) {
  EXPECT_EQ(decode_classes(std::vector<float>{3.0f}, 5, {}).scores.size(), 1u);
  EXPECT_EQ(decode_classes(std::vector<float>{3.0f}, 5, {}).scores[0].probability, 1.0f);
  EXPECT_TRUE(decode_classes(std::vector<float>{3.0f}, 0, {}).scores.empty());
}

TEST(NoneOfThem, TheThresholdItselfIsReached) {
  const auto none = [](float probability, double threshold) {
    Classification result;
    result.scores = {{0, "", probability, 0}};
    return none_of_them(result, threshold);
  };
  EXPECT_FALSE(none(0.5f, 0.5));
  EXPECT_TRUE(none(0.5f, 0.5000001));
  EXPECT_FALSE(none(0.5f, 0));
  EXPECT_TRUE(none(std::numeric_limits<float>::quiet_NaN(), 0));
  EXPECT_TRUE(none_of_them({}, 0));
}

TEST(DecodeClasses, RefusesWhatIsNoScore) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    EXPECT_THROW(decode_classes(std::vector<float>{1.0f, bad}, 1, {}), Error);
  }
}

TEST(DecodeClasses, RefusesNamesForOtherClasses) {
  const std::vector<std::string> names = {"one"};
  EXPECT_THROW(decode_classes(std::vector<float>{1.0f, 2.0f}, 1, names), Error);
}

}  // namespace
}  // namespace vig::test
