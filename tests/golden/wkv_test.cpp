// Bidirectional WKV and its reference implementation against float64 results of the published
// formula and of the published kernel.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "golden/operator_case.h"
#include "kernels/on_targets.h"
#include "vig/base/buffer.h"
#include "vig/kernels/reference/wkv.h"
#include "vig/kernels/wkv.h"

namespace vig {
namespace {

double error(const std::string& name, bool released, void (*kernel)(const WkvArgs&)) {
  const test::OperatorCase golden("biwkv_" + name);
  const std::vector<float> k = golden.read("k"), v = golden.read("v"),
                           decay = golden.read("spatial_decay"),
                           first = golden.read("spatial_first"),
                           want = golden.read(released ? "y_kernel" : "y");
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
  return test::relative_distance(y, want);
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
