// Weights that several operations or graphs share: packed once where they agree on the layout, and
// refused where they do not. Either would otherwise read what was made for the other.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/networks.h"
#include "runtime/reference_forward.h"
#include "support/errors.h"
#include "vig/graph/builder.h"
#include "vig/graph/graph.h"
#include "vig/runtime/packed_model.h"
#include "vig/runtime/session.h"

namespace vig::test {
namespace {

constexpr Init kInit = normal_init(0.02f);

struct Shared {
  const char* parameter;
  const char *one, *other;  // words of the layouts
  void (*build)(Builder& b, Value x);
};

TEST(PackedModel, RefusesAParameterOfTwoLayouts) {
  const Shared cases[] = {
      {"w.weight", "panels", "paired panels",
       [](Builder& b, Value x) {
         b.output("plain", b.linear(x, "w", 8, false, kInit));
         b.output("paired", b.swiglu(b.linear(x, "w", 8, false, kInit)));
       }},
      {"w.weight", "panels with bias", "panels",
       [](Builder& b, Value x) {
         b.output("biased", b.linear(x, "w", 8, true, kInit));
         b.output("plain", b.linear(x, "w", 8, false, kInit));
       }},
      {"w", "bias 1", "bias 2",
       [](Builder& b, Value x) {
         b.output("one", b.linear_range(x, {"w", {8, 8}, {}, "bias.1"}, kInit));
         b.output("two", b.linear_range(x, {"w", {8, 8}, {}, "bias.2"}, kInit));
       }},
      {"w", "panels", "2 ranges",
       [](Builder& b, Value x) {
         b.output("whole", b.linear_range(x, {"w", {8, 4}, {}}, kInit));
         b.output("parts",
                  b.linear_range(x, {"w", {8, 4}, {.groups = 2, .group_stride = 4}}, kInit));
       }},
      {"c.weight", "panels with bias", "panels",
       [](Builder& b, Value x) {
         b.output("biased", b.conv(x, "c", 8, {.kernel = 3}));
         b.output("plain", b.conv(x, "c", 8, {.kernel = 3, .bias = false}));
       }},
      {"d.weight", "taps", "taps with bias",
       [](Builder& b, Value x) {
         b.output("plain", b.depthwise_conv(x, "d", {}, kInit));
         b.output("biased", b.depthwise_conv(x, "d", {.bias = true}, kInit));
       }},
  };
  for (const Shared& c : cases) {
    Builder b;
    c.build(b, b.input("x", {4, 4, 8}));
    const Graph graph = std::move(b).finish();
    const auto weights = lively_weights(graph, 1);
    expect_error(ErrorCode::kInput, {c.parameter, "is needed as", c.one, c.other},
                 [&] { PackedModel::make(graph, weights); });
  }
}

Graph one_norm(const std::string& norm) {
  Builder b;
  b.output("y", b.batch_norm(b.linear(b.input("x", {4, 4, 8}), "w", 8, false, kInit), norm));
  return std::move(b).finish();
}

// Two graphs of one model fold norms of their own into the weights they share.
TEST(PackedModel, RefusesTwoNormsInOneWeight) {
  std::vector<Graph> graphs = {one_norm("bn1"), one_norm("bn2")};
  share_parameters(graphs);
  const auto weights = lively_weights(graphs[0], 1);
  expect_error(ErrorCode::kInput, {"w.weight", "is needed as", "with batch norm"},
               [&] { PackedModel::make(graphs, weights); });
}

TEST(PackedModel, TheSameLayoutIsShared) {
  Builder b;
  const Value x = b.input("x", {4, 4, 8});
  const Value y = b.linear(x, "w", 8, true, kInit);
  b.output("y", b.linear(b.activation(y, Elementwise::kRelu), "w", 8, true, kInit));
  const Graph graph = std::move(b).finish();
  const auto weights = lively_weights(graph, 1);
  Session session(graph, weights, {.threads = 1});
  Values inputs = image(4, 4, 1);
  inputs.resize(128, 0.5f);
  const Values found = run_alone(session, inputs);
  const Values expected = reference_forward(graph, *weights, inputs).back();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

}  // namespace
}  // namespace vig::test
