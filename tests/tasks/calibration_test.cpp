#include "vig/tasks/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "support/errors.h"

namespace vig::test {
namespace {

// Two classes, of which the first has this probability.
std::vector<float> of_probability(double p) {
  return {static_cast<float>(std::log(p)), static_cast<float>(std::log(1 - p))};
}

TEST(Calibration, ErrorIsTheMeanGapOfTheBins) {
  Calibration calibration;
  // A bin of four images said to be right with 0.75, and two of them are.
  for (const int label : {0, 0, 1, 1}) calibration.add(of_probability(0.75), label);
  EXPECT_NEAR(calibration.error(1), 0.25, 1e-6);
  // One more at 0.9, right: a gap of 0.1 with a fifth of the weight.
  calibration.add(of_probability(0.9), 0);
  EXPECT_NEAR(calibration.error(1), 0.25 * 0.8 + 0.1 * 0.2, 1e-6);
  EXPECT_EQ(Calibration().error(1), 0);
}

TEST(Calibration, FindsTheTemperatureThatLabelsWereDrawnWith) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 2);
  for (const double temperature : {0.4, 1.0, 3.0}) {
    Calibration calibration;
    for (int i = 0; i < 20000; ++i) {
      std::vector<float> logits(5);
      std::vector<double> weights;
      for (float& logit : logits) {
        logit = normal(random);
        weights.push_back(std::exp(logit / temperature));
      }
      calibration.add(logits,
                      std::discrete_distribution<int>(weights.begin(), weights.end())(random));
    }
    const double found = calibration.best_temperature();
    EXPECT_NEAR(found / temperature, 1, 0.05);
    EXPECT_LT(calibration.error(found), 0.015);
    EXPECT_LE(calibration.loss(found), calibration.loss(temperature));
    if (temperature == 1) continue;
    EXPECT_GT(calibration.error(1), 0.05);
  }
}

TEST(Calibration, KeepsWhatReachesTheThreshold) {
  Calibration calibration;
  calibration.add(of_probability(0.9), 0);
  calibration.add(of_probability(0.8), 1);
  calibration.add(of_probability(0.6), 0);
  calibration.add(of_probability(0.4), 1);  // the second class, with 0.6
  const auto kept = [&](double threshold) { return calibration.kept(threshold, 1); };
  EXPECT_EQ(kept(0).share, 1);
  EXPECT_EQ(kept(0).precision, 0.75);
  EXPECT_EQ(kept(0.7).share, 0.5);
  EXPECT_EQ(kept(0.7).precision, 0.5);
  EXPECT_EQ(kept(0.95).share, 0);
  EXPECT_EQ(kept(0.95).precision, 1);
  // At a higher temperature probabilities are nearer to each other.
  EXPECT_EQ(calibration.kept(0.85, 2).share, 0);
}

TEST(Calibration, RefusesWhatDoesNotFit) {
  Calibration calibration;
  calibration.add(of_probability(0.5), 1);
  expect_error(ErrorCode::kInput, {"label 2"}, [&] { calibration.add(of_probability(0.5), 2); });
  expect_error(ErrorCode::kInput, {"3 scores"}, [&] { calibration.add(std::vector<float>(3), 0); });
  EXPECT_EQ(calibration.images(), 1u);
}

}  // namespace
}  // namespace vig::test
