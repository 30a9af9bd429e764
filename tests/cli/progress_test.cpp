#include "vig/cli/progress.h"

#include <gtest/gtest.h>

namespace vig::test {
namespace {

TEST(ClockText, MinutesAndHours) {
  EXPECT_EQ(cli::clock_text(0), "0:00");
  EXPECT_EQ(cli::clock_text(59.4), "0:59");
  EXPECT_EQ(cli::clock_text(59.5), "1:00");
  EXPECT_EQ(cli::clock_text(3599), "59:59");
  EXPECT_EQ(cli::clock_text(3600), "1:00:00");
  EXPECT_EQ(cli::clock_text(7384), "2:03:04");
  EXPECT_EQ(cli::clock_text(360000), "100:00:00");
  EXPECT_EQ(cli::clock_text(-5), "0:00");
}

}  // namespace
}  // namespace vig::test
