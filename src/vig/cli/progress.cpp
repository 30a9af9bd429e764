#include "vig/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "vig/cli/output.h"

namespace vig::cli {
namespace {

constexpr double kRedraw = 0.1;    // seconds between redraws of the bar
constexpr double kPlainLine = 10;  // seconds between lines where there is no terminal
constexpr int kBarWidth = 24;

double between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

Progress::Progress(int64_t total, std::string unit)
    : total_(total),
      unit_(std::move(unit)),
      terminal_(isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() { hide(); }

std::string Progress::status() const {
  const double seconds = between(start_, std::chrono::steady_clock::now());
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  std::string text = fmt::format("{} of {} {}", done_, total_, unit_);
  if (rate >= 0.05) text += fmt::format(", {:.1f}/s", rate);
  if (rate > 0) {
    text += fmt::format(", {} left", clock_text(static_cast<double>(total_ - done_) / rate));
  }
  return text;
}

void Progress::advance(int64_t count) {
  done_ += count;
  const auto now = std::chrono::steady_clock::now();
  if (between(last_, now) < (terminal_ ? kRedraw : kPlainLine)) return;
  last_ = now;
  if (!terminal_) {
    complain(status());
    return;
  }
  const auto filled = static_cast<int>(kBarWidth * done_ / std::max<int64_t>(total_, 1));
  std::string bar(static_cast<size_t>(filled), '#');
  bar.resize(kBarWidth, '.');
  const std::string line = fmt::format("\r\x1b[K[{}] {}", bar, status());
  std::fwrite(line.data(), 1, line.size(), stderr);
  shown_ = true;
}

void Progress::hide() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  shown_ = false;
  last_ = {};  // drawn again at once
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::clamp(seconds, 0.0, 1e9) + 0.5);
  const int64_t minutes = whole / 60 % 60, hours = whole / 3600;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

}  // namespace vig::cli
