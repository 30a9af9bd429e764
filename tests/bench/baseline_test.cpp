// Another engine's replies, line by line. How they become rows is in tests/cli/baseline_test.cpp.
#include "vig/bench/baseline.h"

#include <gtest/gtest.h>

#include "pipeline/fixtures.h"

namespace vig::test {
namespace {

// Replies to every command with the next of these words of a shell.
Baseline baseline(const std::string& lines) {
  BaselineOptions options;
  options.command =
      "for line in " + lines + "; do read -r question; printf '%b\\n' \"$line\"; done";
  return Baseline(options, {}, [] { return true; });
}

TEST(Baseline, LinesMayEndAsOnWindows) {
  Baseline engine = baseline("'Engine 1\\r' 'ok\\r' '3 4.5\\r' '123\\r'");
  EXPECT_EQ(engine.name(), "Engine 1");
  EXPECT_NO_THROW(engine.rest());
  EXPECT_EQ(engine.time(0.1), (std::vector{1e-3 * 3, 1e-3 * 4.5}));
  EXPECT_EQ(engine.memory(), 123u);
}

TEST(Baseline, NamesAndValuesAreBounded) {
  EXPECT_EQ(baseline(std::string(60, 'x')).name(), std::string(60, 'x'));
  EXPECT_NE(error_of([] { baseline(std::string(61, 'x')); }).find("expected its name"),
            std::string::npos);
  for (const char* bytes : {"0", "-5", "1e19", "nan", "12kB"}) {
    Baseline engine = baseline(std::string("x ") + bytes);
    const std::string message = error_of([&] { engine.memory(); });
    EXPECT_NE(message.find(std::string("replied '") + bytes + "' to 'memory'"), std::string::npos)
        << message;
  }
}

}  // namespace
}  // namespace vig::test
