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

constexpr size_t kLongestReply = size_t{1} << 28;  // bytes of logits
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
  if (name.empty() || name.size() > kLongestName) fail_reply("name", "its name", name);
  name_ = printable(name);
}

std::string Baseline::ask(const std::string& line, double seconds) {
  std::optional<std::string> reply;
  try {
    process_->write_line(line);
    reply = process_->read_line(options_.timeout + seconds, keep_going_);
  } catch (const Error& error) {
    fail("the baseline '{}' {}", printable(options_.command), error.what());
  }
  if (!reply) throw BaselineStopped();
  if (reply->ends_with('\r')) reply->pop_back();
  if (reply->starts_with("error ")) {
    fail("the baseline '{}' reports: {}", printable(options_.command),
         printable(reply->substr(6), 400));
  }
  return *reply;
}

void Baseline::fail_reply(const std::string& line, const std::string& expected,
                          const std::string& reply) const {
  fail("the baseline '{}' replied '{}' to '{}', expected {}", printable(options_.command),
       printable(reply, 60), line, expected);
}

std::vector<float> Baseline::run(const MemoryFile& input, int batch, int height, int width) {
  const MemoryFile output("logits");
  const std::string line =
      fmt::format("run {} {} {} {} {}", input.path(), output.path(), batch, height, width);
  const std::string reply = ask(line);
  if (reply != "ok") fail_reply("run", "ok", reply);
  const size_t bytes = output.size();
  if (bytes == 0 || bytes % sizeof(float) != 0 || bytes > kLongestReply) {
    fail("the baseline '{}' wrote {} bytes of logits, expected values of {} bytes",
         printable(options_.command), bytes, sizeof(float));
  }
  const std::string contents = output.contents(bytes);
  std::vector<float> logits(contents.size() / sizeof(float));
  std::memcpy(logits.data(), contents.data(), logits.size() * sizeof(float));
  return logits;
}

std::vector<double> Baseline::time(double seconds) {
  const std::string reply = ask(fmt::format("time {:.4f}", seconds), seconds);
  std::vector<double> times;
  for (size_t at = 0; at < reply.size();) {
    const size_t end = std::min(reply.find(' ', at), reply.size());
    const double milliseconds = positive_number(std::string_view(reply).substr(at, end - at));
    if (milliseconds == 0) fail_reply("time", "milliseconds of every run", reply);
    times.push_back(1e-3 * milliseconds);
    at = end + 1;
  }
  if (times.empty()) fail_reply("time", "milliseconds of every run", reply);
  return times;
}

void Baseline::rest() {
  const std::string reply = ask("rest");
  if (reply != "ok") fail_reply("rest", "ok", reply);
}

size_t Baseline::memory() {
  const std::string reply = ask("memory");
  const double bytes = positive_number(reply);
  if (bytes == 0 || bytes > 1e18) fail_reply("memory", "a number of bytes", reply);
  return static_cast<size_t>(bytes);
}

}  // namespace vig
