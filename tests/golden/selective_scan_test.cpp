// The selective scan and its reference implementation against float64 results of the recurrence.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "vig/base/buffer.h"
#include "vig/kernels/reference/selective_scan.h"
#include "vig/kernels/selective_scan.h"
#include "vig/weights/elements.h"
#include "vig/weights/safetensors.h"

namespace vig {
namespace {

std::vector<float> read(const SafeTensors& file, const std::string& name) {
  const NamedTensor* tensor = file.find(name);
  if (tensor == nullptr) throw std::runtime_error("the case has no tensor " + name);
  return to_floats(tensor->view);
}

// The largest difference relative to the largest value.
double error(const std::string& name, void (*scan)(const SelectiveScanArgs&)) {
  const SafeTensors file = SafeTensors::open(
      std::string(VIG_TEST_DATA) + "/golden/peers/op_selective_scan_" + name + ".safetensors");
  const Shape shape = file.find("A_log")->view.shape;
  const int64_t channels = shape[0], states = shape[1];
  const std::vector<float> u = read(file, "u"), raw = read(file, "delta_raw"),
                           bias = read(file, "delta_bias"), a_log = read(file, "A_log"),
                           b = read(file, "B"), c = read(file, "C"), d = read(file, "D"),
                           want = read(file, "y");
  std::vector<float> rates(a_log.size()), y(want.size());
  selective_scan_rates(a_log.data(), channels, states, rates.data());
  Buffer state(selective_scan_state_floats(channels, states) * sizeof(float));
  SelectiveScanArgs args;
  args.tokens = static_cast<int64_t>(u.size()) / channels;
  args.channels = channels;
  args.states = states;
  args.u = {u.data(), channels, nullptr};
  args.raw = {raw.data(), channels, nullptr};
  args.b = {b.data(), states, nullptr};
  args.c = {c.data(), states, nullptr};
  args.bias = bias.data();
  args.rates = rates.data();
  args.rates_stride = channels;
  args.d = d.data();
  args.y = {y.data(), channels, nullptr};
  args.state = state.floats();
  scan(args);
  double distance = 0.0, largest = 0.0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(y[i]) - want[i]);
    distance = std::isnan(difference) ? INFINITY : std::max(distance, difference);
    largest = std::max(largest, std::fabs(static_cast<double>(want[i])));
  }
  EXPECT_GT(largest, 0.0);
  return distance / largest;
}

constexpr const char* kNames[] = {"mixed", "remember", "forget"};

class SelectiveScanGoldenOnTarget : public test::OnTarget {};

TEST_P(SelectiveScanGoldenOnTarget, MatchesTheGoldenCases) {
  for (const char* name : kNames) EXPECT_LE(error(name, selective_scan), 5e-6) << name;
}

VIG_ON_EVERY_TARGET(SelectiveScanGoldenOnTarget);

TEST(SelectiveScanReferenceGolden, MatchesTheGoldenCases) {
  for (const char* name : kNames) EXPECT_LE(error(name, reference::selective_scan), 1e-6) << name;
}

}  // namespace
}  // namespace vig
