// The network that learns and the network that answers are the same: every model run by LibTorch
// and run by the engine.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/networks.h"
#include "vig/train/forward.h"
#include "vig/train/parameters.h"

namespace vig::test {
namespace {

std::vector<NetworkCase> every_model() {
  std::vector<NetworkCase> cases = network_cases();
  for (const ModelSpec& spec : model_zoo()) {
    const bool there = std::any_of(cases.begin(), cases.end(),
                                   [&](const NetworkCase& c) { return c.model == spec.name; });
    if (!there && spec.name.starts_with("test_")) {
      cases.push_back({spec.name, spec.name, {}, spec.recipe.crop, spec.recipe.crop});
    }
  }
  return cases;
}

void expect_same_logits(const NetworkCase& description) {
  SCOPED_TRACE(description.name);
  const Network network(description);
  const train::Parameters parameters(network.graph.params, *network.weights, at::kCPU);
  constexpr int kBatch = 3;
  Session session = network.session({.batch = kBatch, .threads = 1});
  const Grid& input = network.graph.node(0).grid;
  at::Tensor pictures = at::empty({kBatch, input.height, input.width, 3}, at::kFloat);
  for (int i = 0; i < kBatch; ++i) {
    const Values pixels = network.picture(static_cast<uint64_t>(i) + 1);
    set_input(session, i, pixels);
    std::copy(pixels.begin(), pixels.end(), pictures[i].data_ptr<float>());
  }
  session.run(kBatch);
  for (const bool kernels : {true, false}) {
    train::ForwardOptions options;
    options.kernels = kernels;
    const at::Tensor logits =
        train::forward_logits(network.graph, parameters.views(), pictures, options).contiguous();
    for (int i = 0; i < kBatch; ++i) {
      const float* expected = session.output("logits", i);
      float largest = 0, difference = 0;
      for (int64_t c = 0; c < logits.size(1); ++c) {
        const float value = logits.data_ptr<float>()[i * logits.size(1) + c];
        ASSERT_TRUE(std::isfinite(value));
        largest = std::max(largest, std::abs(expected[c]));
        difference = std::max(difference, std::abs(value - expected[c]));
      }
      EXPECT_GT(largest, 0.01f);
      EXPECT_LE(difference, 1e-4f * std::min(largest, 1.0f)) << (kernels ? "kernels" : "plain");
    }
  }
}

// One test for all: starting with LibTorch takes longer than a network.
TEST(Engine, HasTheLogitsOfTraining) {
  for (const NetworkCase& network : every_model()) expect_same_logits(network);
}

}  // namespace
}  // namespace vig::test
