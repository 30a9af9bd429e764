#include "vig/bench/baseline.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/printable.h"

namespace vig {
namespace {

constexpr size_t kLongestAnswer = size_t{1} << 28;  // bytes of logits
constexpr size_t kLongestName = 60;

// All of `text` as a finite number above zero; 0 for anything else.
double positive_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && std::isfinite(value) && value > 0 ? value : 0;
}

}  // namespace

Baseline::Baseline(const BaselineOptions& options, const std::vector<std::string>& environment,
                   std::function<bool()> keep_going)
    : options_(options), keep_going_(std::move(keep_going)) {
  process_.emplace(options_.command, environment);
  const std::string name = ask("name");
  if (name.empty() || name.size() > kLongestName) fail_answer("name", "its name", name);
  name_ = printable(name);
}

std::string Baseline::ask(const std::string& line, double seconds) {
  std::optional<std::string> answer;
  try {
    process_->write_line(line);
    answer = process_->read_line(options_.timeout + seconds, keep_going_);
  } catch (const Error& error) {
    fail("the baseline '{}' {}", printable(options_.command), error.what());
  }
  if (!answer) throw BaselineStopped();
  if (answer->ends_with('\r')) answer->pop_back();
  if (answer->starts_with("error ")) {
    fail("the baseline '{}' reports: {}", printable(options_.command),
         printable(answer->substr(6), 400));
  }
  return *answer;
}

void Baseline::fail_answer(const std::string& line, const std::string& expected,
                           const std::string& answer) const {
  fail("the baseline '{}' answers '{}' to '{}', expected {}", printable(options_.command),
       printable(answer, 60), line, expected);
}

std::vector<float> Baseline::run(const MemoryFile& input, int batch, int height, int width) {
  const MemoryFile output("logits");
  const std::string line =
      fmt::format("run {} {} {} {} {}", input.path(), output.path(), batch, height, width);
  const std::string answer = ask(line);
  if (answer != "ok") fail_answer("run", "ok", answer);
  const size_t bytes = output.size();
  if (bytes == 0 || bytes % sizeof(float) != 0 || bytes > kLongestAnswer) {
    fail("the baseline '{}' wrote {} bytes of logits, expected numbers of {} bytes",
         printable(options_.command), bytes, sizeof(float));
  }
  const std::string contents = output.contents(bytes);
  std::vector<float> logits(contents.size() / sizeof(float));
  std::memcpy(logits.data(), contents.data(), logits.size() * sizeof(float));
  return logits;
}

std::vector<double> Baseline::time(double seconds) {
  const std::string answer = ask(fmt::format("time {:.4f}", seconds), seconds);
  std::vector<double> times;
  for (size_t at = 0; at < answer.size();) {
    const size_t end = std::min(answer.find(' ', at), answer.size());
    const double milliseconds = positive_number(std::string_view(answer).substr(at, end - at));
    if (milliseconds == 0) fail_answer("time", "milliseconds of every run", answer);
    times.push_back(1e-3 * milliseconds);
    at = end + 1;
  }
  if (times.empty()) fail_answer("time", "milliseconds of every run", answer);
  return times;
}

void Baseline::rest() {
  const std::string answer = ask("rest");
  if (answer != "ok") fail_answer("rest", "ok", answer);
}

size_t Baseline::memory() {
  const std::string answer = ask("memory");
  const double bytes = positive_number(answer);
  if (bytes == 0 || bytes > 1e18) fail_answer("memory", "a number of bytes", answer);
  return static_cast<size_t>(bytes);
}

}  // namespace vig
