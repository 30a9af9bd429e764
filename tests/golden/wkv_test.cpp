// Bidirectional WKV and its reference implementation against float64 results of the published
// formula and of the published kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "vig/base/buffer.h"
#include "vig/kernels/reference/wkv.h"
#include "vig/kernels/wkv.h"
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
double error(const std::string& name, bool released, void (*kernel)(const WkvArgs&)) {
  const SafeTensors file = SafeTensors::open(std::string(VIG_TEST_DATA) +
                                             "/golden/peers/op_biwkv_" + name + ".safetensors");
  const std::vector<float> k = read(file, "k"), v = read(file, "v"),
                           decay = read(file, "spatial_decay"), first = read(file, "spatial_first"),
                           want = read(file, released ? "y_kernel" : "y");
  std::vector<float> y(want.size());
  WkvArgs args;
  args.channels = static_cast<int64_t>(decay.size());
  args.tokens = static_cast<int64_t>(k.size()) / args.channels;
  args.k = k.data();
  args.v = v.data();
  args.k_stride = args.v_stride = args.y_stride = args.channels;
  args.decay = decay.data();
  args.first = first.data();
  args.released = released;
  args.y = y.data();
  Buffer scratch(wkv_scratch_floats(args.tokens) * sizeof(float));
  args.scratch = scratch.floats();
  kernel(args);
  double distance = 0.0, largest = 0.0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(y[i]) - want[i]);
    distance = std::isnan(difference) ? INFINITY : std::max(distance, difference);
    largest = std::max(largest, std::fabs(static_cast<double>(want[i])));
  }
  EXPECT_GT(largest, 0.0);
  return distance / largest;
}

struct Case {
  const char* name;
  bool released;
};
constexpr Case kCases[] = {{"t1", false}, {"t196", false}, {"t196", true}, {"large_keys", false}};

class WkvGoldenOnTarget : public test::OnTarget {};

TEST_P(WkvGoldenOnTarget, MatchesTheGoldenCases) {
  for (const auto& [name, released] : kCases) EXPECT_LE(error(name, released, wkv), 5e-6) << name;
}

VIG_ON_EVERY_TARGET(WkvGoldenOnTarget);

// The formula's 1e-6 is not in the reference.
TEST(WkvReferenceGolden, MatchesTheGoldenCases) {
  for (const auto& [name, released] : kCases) {
    EXPECT_LE(error(name, released, reference::wkv), 1.1e-6) << name;
  }
}

}  // namespace
}  // namespace vig
