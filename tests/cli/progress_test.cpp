#include "vig/cli/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <regex>

namespace vig::test {
namespace {

// A terminal in place of standard error, as long as it lives.
class Terminal {
 public:
  Terminal() : end_(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    if (end_ < 0 || grantpt(end_) != 0 || unlockpt(end_) != 0) return;
    const int shown = open(ptsname(end_), O_RDWR | O_NOCTTY);
    if (shown < 0) return;
    saved_ = dup(STDERR_FILENO);
    dup2(shown, STDERR_FILENO);
    close(shown);
  }
  ~Terminal() {
    if (saved_ >= 0) dup2(saved_, STDERR_FILENO);
    if (saved_ >= 0) close(saved_);
    if (end_ >= 0) close(end_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool works() const { return saved_ >= 0; }
  // What was written since the last call. A mark follows it, since terminals take their time.
  std::string written() const {
    std::string text;
    char byte = kMark;
    if (write(STDERR_FILENO, &byte, 1) != 1) return "no terminal";
    pollfd ready = {end_, POLLIN, 0};
    while (poll(&ready, 1, 10'000) > 0 && read(end_, &byte, 1) == 1 && byte != kMark) text += byte;
    return text;
  }

 private:
  static constexpr char kMark = 1;

  int end_ = -1, saved_ = -1;
};

constexpr const char* kGone = "\r\x1b[K";

TEST(Progress, IsABarOnATerminal) {
  const Terminal terminal;
  if (!terminal.works()) GTEST_SKIP() << "the system gives no terminal";
  {
    cli::Progress progress(4, "images");
    usleep(110'000);  // it is not drawn more often than every 0.1 s
    progress.advance(1);
    const std::string first = terminal.written();
    EXPECT_TRUE(std::regex_match(
        first, std::regex("\r\x1b\\[K\\[######\\.{18}\\] 1 of 4 images(, [0-9.]+/s)?, "
                          "[0-9:]+ left")))
        << first;
    // Cleared before other output, once; then drawn again.
    progress.hide();
    EXPECT_EQ(terminal.written(), kGone);
    progress.hide();
    EXPECT_EQ(terminal.written(), "");
    progress.advance(2);
    const std::string second = terminal.written();
    EXPECT_TRUE(second.starts_with(std::string(kGone) + "[##################......] 3 of 4 images"))
        << second;
  }
  EXPECT_EQ(terminal.written(), kGone);
}

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
