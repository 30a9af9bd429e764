// Models of several graphs with plain code between them, several inputs, and outputs at several
// strides.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/networks.h"
#include "runtime/reference_forward.h"
#include "support/errors.h"
#include "support/init.h"
#include "vig/graph/builder.h"

namespace vig::test {
namespace {

// A detector in miniature: features of the image, and a head that takes boxes cut out of them.
struct DetectorConfig : ConfigOf<DetectorConfig> {
  void visit_fields(FieldVisitor& visitor) override { visit_common(visitor); }
  int64_t blocks() const override { return 1; }
  std::map<std::string, std::string> fields_shown_by(const TensorShapes&) const override {
    return {};
  }

  Graph build(int height, int width) const override {
    Builder b;
    Value x = b.conv(b.input("image", {height, width, 3}), "stem", 8, {4, 4, 0});
    x = b.linear(x, "shared", 8, true, kInit);
    b.output("features", x);
    b.output("objectness", b.linear(x, "rpn", 3, true, kInit));
    return std::move(b).finish();
  }
  std::vector<Graph> further_graphs() const override {
    Builder b;
    Value x = b.activation(b.input("boxes", {3, 3, 8}), Elementwise::kRelu);
    x = b.linear(x, "shared", 8, true, kInit);
    x = b.conv(x, "box_head", 16, {3, 1, 0});
    b.begin_head();
    b.output("scores", b.linear(x, "classes", classes, true, kInit));
    return {std::move(b).finish()};
  }
};

ModelSpec detector() { return {"detector", DetectorConfig(), Recipe(), "two graphs"}; }

double largest_difference(const Values& a, const Values& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(static_cast<double>(a[i]) - b[i]));
  }
  return largest;
}

TEST(SeveralGraphs, OneWeightFileAndOnePackedModelServeAll) {
  const std::vector<Graph> graphs = build_graphs(detector(), 32, 24);
  ASSERT_EQ(graphs.size(), 2u);
  EXPECT_EQ(build_graph(detector(), 32, 24).param_count(), graphs[1].param_count());
  const auto weights = lively_weights(graphs[0], 1);  // written and loaded: the union
  EXPECT_EQ(weights->size(), 10u);
  const auto model = PackedModel::make(graphs, weights);

  Session body(model, graphs[0], {.batch = 1, .threads = 2});
  const Values pixels = image(32, 24, 1);
  const Values features = run_alone(body, pixels);
  const auto expected = reference_forward(graphs[0], *weights, pixels);
  EXPECT_LE(largest_difference(read_value(body, graphs[0].find_output("features"), 0),
                               expected[graphs[0].find_output("features")]),
            1e-5);

  // Plain code: a window of 3 x 3 positions at each corner of the 8 x 6 features.
  constexpr int kBoxes = 4;
  std::vector<Values> boxes;
  for (const auto& [top, left] : {std::pair(0, 0), std::pair(0, 3), std::pair(5, 0), {5, 3}}) {
    Values box;
    for (int y = top; y < top + 3; ++y) {
      const auto row = features.begin() + (y * 6 + left) * 8;
      box.insert(box.end(), row, row + 3 * 8);
    }
    boxes.push_back(std::move(box));
  }
  Session head(model, graphs[1], {.batch = kBoxes, .threads = 2});
  for (int i = 0; i < kBoxes; ++i) set_input(head, i, boxes[static_cast<size_t>(i)]);
  head.run(kBoxes);
  for (int i = 0; i < kBoxes; ++i) {
    const Values scores =
        reference_forward(graphs[1], *weights, boxes[static_cast<size_t>(i)]).back();
    EXPECT_LE(largest_difference(read_outputs(head, i), scores), 1e-5) << "box " << i;
  }
}

TEST(SeveralGraphs, WhatTheyShareIsPackedOnce) {
  std::vector<Graph> graphs = build_graphs(detector(), 32, 24);
  const auto weights = lively_weights(graphs[0], 1);
  const size_t both = PackedModel::make(graphs, weights)->bytes();
  const size_t first = PackedModel::make(graphs[0], weights)->bytes();
  const size_t second = PackedModel::make(graphs[1], weights)->bytes();
  EXPECT_LT(both, first + second);
  EXPECT_GT(both, std::max(first, second));
}

TEST(SeveralGraphs, OneModelServesThemAtAnySize) {
  const auto graphs = build_graphs(detector(), 32, 24);
  const auto weights = lively_weights(graphs[0], 1);
  const auto model = PackedModel::make(graphs, weights);
  const auto larger = build_graphs(detector(), 64, 48);
  Session session(model, larger[0], {.threads = 1});
  const Values pixels = image(64, 48, 2);
  Session own(PackedModel::make(larger, weights), larger[0], {.threads = 1});
  expect_same_bits(run_alone(session, pixels), run_alone(own, pixels), "another size");
}

TEST(SeveralGraphs, ASessionRefusesAGraphThatIsNotItsModels) {
  const Network network(network_case("vig_s_plain"));
  const auto other = [](Fields fields) {
    NetworkCase description = network_case("vig_s_plain");
    for (const auto& [field, value] : fields) description.fields[field] = value;
    return description.graph();
  };
  const auto expect_refused = [&](const Graph& graph, const std::string& word) {
    expect_error(ErrorCode::kUsage, {"another model", word},
                 [&] { Session(network.packed, graph, {.threads = 1}); });
  };
  expect_refused(other({{"embed_dim", "48"}}), "patch_embed.proj.0.weight");
  expect_refused(other({{"depth", "3"}}), "blocks.2");
  expect_refused(other({{"heads", "4"}}), "blocks.0.attn.g_norm");
  expect_refused(other({{"silu_after_dwconv", "true"}}), "silu");  // the same parameters
  const auto graphs = build_graphs(detector(), 32, 24);
  const auto first = PackedModel::make(graphs[0], lively_weights(graphs[0], 1));
  expect_error(ErrorCode::kUsage, {"another model"},
               [&] { Session(first, graphs[1], {.threads = 1}); });
  EXPECT_NO_THROW(Session(first, graphs[0], {.threads = 1}));
}

TEST(SeveralGraphs, ParametersOfOneNameAndTwoShapesAreRefused) {
  struct Broken : DetectorConfig {
    std::vector<Graph> further_graphs() const override {
      Builder b;
      b.output("y", b.linear(b.input("boxes", {1, 1, 9}), "shared", 8, true, kInit));
      return {std::move(b).finish()};
    }
  };
  expect_error(ErrorCode::kInput, {"shared.weight", "[8, 8]", "[8, 9]"}, [] {
    build_graphs({"broken", Broken(), Recipe(), ""}, 32, 24);
  });
}

TEST(Inputs, AreGivenByName) {
  const Network network(network_case("two_inputs"));
  Session session = network.session({.batch = 2, .threads = 1});
  EXPECT_EQ(session.input(1), session.input("image", 1));
  EXPECT_NE(session.input("map", 0), session.input("image", 0));
  expect_error(ErrorCode::kUsage, {"no input 'boxes'"}, [&] { session.input("boxes", 0); });
  expect_error(ErrorCode::kUsage, {"image 2"}, [&] { session.input("map", 2); });
  // Each of them matters.
  const Values values = network.image(1);
  const Values expected = run_alone(session, values);
  for (const char* name : {"image", "map"}) {
    set_input(session, 0, values);
    session.input(name, 0)[5] += 1.0f;
    session.run(1);
    EXPECT_NE(read_outputs(session, 0), expected) << name;
  }
}

TEST(Outputs, OfAHierarchicalModelHaveFourStrides) {
  const Network network({"pyramid", "test_vig_h", {}, 96, 160});
  Session session = network.session({.batch = 2, .threads = 2});
  const int channels[] = {16, 32, 64, 128};
  for (int stage = 0; stage < 4; ++stage) {
    const int node = network.graph.find_output("stage" + std::to_string(stage));
    ASSERT_GE(node, 0) << stage;
    EXPECT_EQ(network.graph.node(node).grid, (Grid{24 >> stage, 40 >> stage, channels[stage]}));
  }
  for (int image = 0; image < 2; ++image) set_input(session, image, network.image(image + 1));
  session.run(2);
  for (int image = 0; image < 2; ++image) {
    const auto expected =
        reference_forward(network.graph, *network.weights, network.image(image + 1));
    for (int stage = 0; stage < 4; ++stage) {
      const std::string name = "stage" + std::to_string(stage);
      const int node = network.graph.find_output(name);
      EXPECT_LE(largest_difference(read_value(session, node, image), expected[node]), 1e-4) << name;
    }
  }
}

}  // namespace
}  // namespace vig::test
