// The selective scan and its reference implementation against float64 results of the recurrence.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "golden/operator_case.h"
#include "kernels/on_targets.h"
#include "vig/base/buffer.h"
#include "vig/kernels/reference/selective_scan.h"
#include "vig/kernels/selective_scan.h"

namespace vig {
namespace {

double error(const std::string& name, void (*scan)(const SelectiveScanArgs&)) {
  const test::OperatorCase golden("selective_scan_" + name);
  const Shape shape = golden.view("A_log").shape;
  const int64_t channels = shape[0], states = shape[1];
  const std::vector<float> u = golden.read("u"), raw = golden.read("delta_raw"),
                           bias = golden.read("delta_bias"), a_log = golden.read("A_log"),
                           b = golden.read("B"), c = golden.read("C"), d = golden.read("D"),
                           want = golden.read("y");
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
  return test::relative_distance(y, want);
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
