#include "vig/cli/train/test_point.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "vig/base/error.h"

namespace vig::cli {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ':') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

const char* point_name(train::RunPoint point) {
  switch (point) {
    case train::RunPoint::kStep:
      return "step";
    case train::RunPoint::kValidation:
      return "validation";
    case train::RunPoint::kSaved:
      return "saved";
  }
  return "";
}

int signal_number(std::string name) {
  for (const auto& [known, number] :
       {std::pair{"KILL", SIGKILL}, {"INT", SIGINT}, {"TERM", SIGTERM}, {"HUP", SIGHUP}}) {
    if (name == known) return number;
  }
  fail_usage("VIG_TEST_SIGNAL names the signal {}, expected KILL, INT, TERM or HUP", name);
}

}  // namespace

std::function<void(train::RunPoint, int64_t)> test_point(int rank, std::function<bool()> arrived) {
  const char* text = std::getenv("VIG_TEST_SIGNAL");
  if (text == nullptr) return {};
  std::vector<std::string> parts = split(text);
  if (parts.size() == 3) parts.push_back("0");
  if (parts.size() != 4) fail_usage("VIG_TEST_SIGNAL is {}, expected POINT:STEP:SIGNAL", text);
  if (parts[3] != std::to_string(rank)) return {};
  const bool twice = parts[2].ends_with("2");
  if (twice) parts[2].pop_back();
  const int number = signal_number(parts[2]);
  return [=](train::RunPoint point, int64_t step) {
    if (parts[0] != point_name(point) || parts[1] != std::to_string(step)) return;
    struct sigaction action = {};
    sigaction(number, nullptr, &action);
    kill(getpid(), number);
    if (action.sa_handler == SIG_IGN) return;
    while (!arrived()) std::this_thread::yield();
    if (!twice) return;
    kill(getpid(), number);
    for (;;) pause();
  };
}

}  // namespace vig::cli
