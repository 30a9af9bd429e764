// The time a run still takes, as reported after some steps.
#include "vig/train/pace.h"

#include <gtest/gtest.h>

#include <cmath>

namespace vig::test {
namespace {

using train::Pace;
using train::WorkLeft;

WorkLeft steps_left(int64_t steps) {
  WorkLeft left;
  left.steps = steps;
  left.checkpoint_minutes = 1e9;
  return left;
}

TEST(Pace, SaysNothingBeforeItIsMeaningful) {
  Pace pace;
  pace.add_step(60, 16);  // slow, as first steps are
  pace.add_step(5, 16);
  pace.add_step(1, 16);
  pace.add_step(1, 16);
  EXPECT_TRUE(std::isnan(pace.seconds_left(steps_left(100))));
  EXPECT_TRUE(std::isnan(pace.images_per_second()));
  pace.add_step(1, 16);  // three that count, three seconds
  EXPECT_NEAR(pace.seconds_left(steps_left(100)), 100, 1e-9) << "neither 60 nor 5 are in it";
  EXPECT_NEAR(pace.images_per_second(), 16, 1e-9);
  EXPECT_EQ(Pace().seconds_left(steps_left(0)), 0) << "nothing left is no guess";
}

TEST(Pace, ShortStepsNeedToBeMany) {
  Pace pace;
  for (int step = 0; step < 21; ++step) pace.add_step(0.001, 4);
  EXPECT_TRUE(std::isnan(pace.seconds_left(steps_left(1000))));
  pace.add_step(0.001, 4);
  EXPECT_NEAR(pace.seconds_left(steps_left(1000)), 1, 1e-9);
}

TEST(Pace, CountsValidationsAndCheckpoints) {
  Pace pace;
  for (int step = 0; step < 30; ++step) pace.add_step(1, 10);  // 10 images a second
  WorkLeft left = steps_left(100);
  left.validations = 4;
  left.val_images = 300;  // at 30 a second, until one has been measured
  EXPECT_NEAR(pace.seconds_left(left), 100 + 4 * 10, 1e-6);
  pace.add_validation(25);
  EXPECT_NEAR(pace.seconds_left(left), 100 + 4 * 25, 1e-6);
  pace.add_checkpoint(3);
  EXPECT_NEAR(pace.seconds_left(left), 100 + 4 * 25 + 4 * 3, 1e-6);
  left.checkpoint_minutes = 0.5;
  EXPECT_NEAR(pace.seconds_left(left), 100 + 4 * 25 + 4 * 3 + 100.0 / 30 * 3, 1e-6);
  left.checkpoint_minutes = 0;
  EXPECT_NEAR(pace.seconds_left(left), 100 + 4 * 25 + 104 * 3, 1e-6);
}

TEST(Pace, FollowsARunThatBecomesSlower) {
  Pace pace;
  for (int step = 0; step < 50; ++step) pace.add_step(1, 10);
  for (int step = 0; step < 300; ++step) pace.add_step(4, 10);
  EXPECT_NEAR(pace.seconds_left(steps_left(10)), 40, 1);
}

}  // namespace
}  // namespace vig::test
