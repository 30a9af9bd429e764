// Networks with int8 products: against the reference execution of the same integers, and the same
// bits whatever the threads and the batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "runtime/networks.h"
#include "runtime/reference_forward.h"
#include "support/errors.h"
#include "vig/runtime/program.h"

namespace vig::test {
namespace {

const Precision kInt8 = {Arithmetic::kInt8, {}};

// Root of the mean square of the differences, as a share of that of the expected numbers.
double root_mean_square_error(const Values& actual, const Values& expected) {
  double differences = 0, squares = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = static_cast<double>(actual[i]) - expected[i];
    differences += difference * difference;
    squares += static_cast<double>(expected[i]) * expected[i];
  }
  return squares > 0 ? std::sqrt(differences / squares) : std::sqrt(differences);
}

class Int8 : public ::testing::TestWithParam<NetworkCase> {};
INSTANTIATE_TEST_SUITE_P(Networks, Int8, ::testing::ValuesIn(network_cases()),
                         [](const auto& test) { return test.param.name; });

// The sums are exact, so on the same operand a layer equals the reference but for the last bits of
// floats.
TEST_P(Int8, EachLayerEqualsReference) {
  const Network network(GetParam(), 1, kInt8);
  const Graph& graph = network.graph;
  const int count = static_cast<int>(graph.nodes.size());
  SessionOptions options{.batch = 1, .threads = 2};
  for (int node = 0; node < count; ++node) {
    if (can_be_kept(graph, node)) options.keep.push_back(node);
  }
  Session session = network.session(options);
  set_input(session, 0, network.image(10));
  session.run(1);
  std::vector<Values> values(graph.nodes.size());
  for (const int node : options.keep) values[node] = read_value(session, node, 0);
  for (const int node : options.keep) {
    if (!uses_int8(kInt8, graph, graph.node(node)) || values[graph.node(node).inputs[0]].empty()) {
      continue;
    }
    const Values expected = reference_value(graph, *network.weights, node, values, kInt8);
    EXPECT_LE(root_mean_square_error(values[node], expected), 1e-6) << graph.label(node);
  }
}

// From layer to layer, last bits move numbers over the border between two codes, so that products
// change by a step; float and int8 differ by several times as much.
TEST_P(Int8, NetworksAreNearReference) {
  const Network network(GetParam(), 1, kInt8);
  Session session = network.session({.batch = 1, .threads = 2});
  const Values pixels = network.image(10);
  set_input(session, 0, pixels);
  session.run(1);
  const auto expected = reference_forward(network.graph, *network.weights, pixels, kInt8);
  for (const Output& output : network.graph.outputs) {
    EXPECT_LE(root_mean_square_error(read_value(session, output.node, 0), expected[output.node]),
              0.03)
        << output.name;
  }
}

TEST_P(Int8, SameBitsForThreadsAndBatch) {
  constexpr int kBatch = 3;
  const Network network(GetParam(), 1, kInt8);
  Session alone = network.session({.batch = 1, .threads = 1});
  std::vector<Values> pixels, expected;
  for (int i = 0; i < kBatch; ++i) {
    pixels.push_back(network.image(100 + i));
    expected.push_back(run_alone(alone, pixels.back()));
  }
  for (int threads : {1, 2, 3, 5}) {
    Session session = network.session({.batch = kBatch, .threads = threads});
    for (int images = kBatch; images >= 1; --images) {
      for (int i = 0; i < images; ++i) set_input(session, i, pixels[(i + images) % kBatch]);
      session.run(images);
      for (int i = 0; i < images; ++i) {
        expect_same_bits(read_outputs(session, i), expected[(i + images) % kBatch],
                         std::to_string(threads) + " threads, " + std::to_string(images) +
                             " images, place " + std::to_string(i));
      }
    }
  }
}

TEST_P(Int8, NotANumberInOneRunOrImageStaysThere) {
  const Network network(GetParam(), 1, kInt8);
  const Values good = network.image(7);
  const Values bad(good.size(), std::numeric_limits<float>::quiet_NaN());
  Session fresh = network.session({.batch = 1, .threads = 1});
  const Values expected = run_alone(fresh, good);
  Session session = network.session({.batch = 3, .threads = 2});
  for (int i = 0; i < 3; ++i) set_input(session, i, bad);
  session.run(3);
  set_input(session, 1, good);
  session.run(3);
  expect_same_bits(read_outputs(session, 1), expected, "between two bad images");
}

TEST(Int8FullSize, SameBitsForThreadsAndBatch) {
  for (const char* model : {"vig_t", "vig_h_t"}) {
    const Network network({model, model, {}, 224, 224}, 1, kInt8);
    const Values pixels = network.image(1);
    Session alone = network.session({.batch = 1, .threads = 1});
    const Values expected = run_alone(alone, pixels);
    for (int threads : {2, 3}) {
      Session session = network.session({.batch = 2, .threads = threads});
      set_input(session, 0, network.image(2));
      set_input(session, 1, pixels);
      session.run(2);
      expect_same_bits(read_outputs(session, 1), expected, model);
    }
  }
}

std::vector<std::string> int8_layers(const Graph& graph, const Precision& precision) {
  std::vector<std::string> layers;
  for (const Node& node : graph.nodes) {
    if (uses_int8(precision, graph, node)) layers.push_back(layer_name(graph, node));
  }
  return layers;
}

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

TEST(Int8Rule, ProductsAndConvolutionsButForClassifierAndGates) {
  const Graph graph = build_graph(find_model("vig_t"), 224, 224);
  EXPECT_TRUE(int8_layers(graph, {}).empty());
  const std::vector<std::string> layers = int8_layers(graph, kInt8);
  for (const Node& node : graph.nodes) {
    const bool linear = std::holds_alternative<LinearOp>(node.op);
    if (!linear && !std::holds_alternative<ConvOp>(node.op)) continue;
    const std::string name = layer_name(graph, node);
    const bool stays = name == "head" || name.find("gk_proj") != std::string::npos;
    EXPECT_EQ(contains(layers, name), !stays) << name;
  }
  EXPECT_GT(layers.size(), 50u);
}

TEST(Int8Rule, ConvolutionsOfHeadsAreIntegers) {
  const Graph resnet = build_graph(find_model("resnet50"), 64, 64);
  EXPECT_TRUE(contains(int8_layers(resnet, kInt8), "layer1.0.conv2"));
  EXPECT_FALSE(contains(int8_layers(resnet, kInt8), "fc"));
  int pyramid = 0;
  for (const Graph& graph : build_graphs(find_model("vig_t_maskrcnn"), 224, 224)) {
    for (const std::string& layer : int8_layers(graph, kInt8)) {
      pyramid += layer.find("fpn_convs") != std::string::npos;
      EXPECT_EQ(layer.find("fc_cls"), std::string::npos);
    }
  }
  EXPECT_GE(pyramid, 4) << "although they make outputs of their graph";
}

TEST(Int8Rule, PatternsKeepLayersFloat) {
  const Graph graph = build_graph(find_model("vig_t"), 224, 224);
  const auto count = [&](std::vector<std::string> patterns) {
    return int8_layers(graph, {Arithmetic::kInt8, std::move(patterns)}).size();
  };
  const size_t all = count({});
  const std::string first = int8_layers(graph, kInt8).front();
  EXPECT_EQ(count({first}), all - 1);
  EXPECT_EQ(count({"*"}), 0u);
  EXPECT_EQ(count({"*.qkv_proj"}), all - 12);
  EXPECT_EQ(count({"blocks.1.*", "blocks.1.*"}), count({"blocks.1.*"}));
  EXPECT_LT(count({"blocks.1*.attn.*"}), count({"blocks.1.attn.*"})) << "blocks 10 and 11, too";
  EXPECT_EQ(count({"qkv_proj"}), all) << "a pattern is the whole name";
  EXPECT_NO_THROW(check_float_layers({Arithmetic::kInt8, {"*qkv_proj"}}, {&graph, 1}));
  for (const char* none : {"no_such_layer", "head", "qkv_proj", ""}) {
    expect_error(ErrorCode::kUsage, {"float layers", none}, [&] {
      check_float_layers({Arithmetic::kInt8, {none}}, {&graph, 1});
    });
  }
}

TEST(Int8Rule, ALayerKeptFloatChangesTheResult) {
  const NetworkCase& description = network_case("test_vig");
  const Network integers(description, 1, kInt8), floats(description);
  const Network all_kept(description, 1, {Arithmetic::kInt8, {"*"}});
  const Values pixels = integers.image(3);
  const auto result = [&](const Network& network) {
    Session session = network.session({.batch = 1, .threads = 1});
    return run_alone(session, pixels);
  };
  EXPECT_NE(result(integers), result(floats));
  expect_same_bits(result(all_kept), result(floats), "every layer kept float");
  EXPECT_LT(integers.packed->bytes(), floats.packed->bytes());
}

// Layers that read one value share its codes: q, k, v and the gates' inputs of a block.
TEST(Int8Rule, AValueIsQuantisedOnce) {
  const Graph graph = build_graph(find_model("vig_t"), 224, 224);
  int quantised = 0, products = 0;
  for (const auto& call : lower(graph, {}, kInt8).calls) {
    quantised += std::string(call->kind()) == "quantise";
    products += std::string(call->kind()).starts_with("int8");
  }
  EXPECT_LT(quantised, products);
  std::set<int> operands;
  for (const Node& node : graph.nodes) {
    if (uses_int8(kInt8, graph, node)) operands.insert(node.inputs[0]);
  }
  EXPECT_EQ(quantised, static_cast<int>(operands.size()));
}

TEST(Int8Rule, UnknownPrecisionIsRefused) {
  EXPECT_EQ(arithmetic_from_name("int8"), Arithmetic::kInt8);
  EXPECT_EQ(arithmetic_from_name("float32"), Arithmetic::kFloat32);
  expect_error(ErrorCode::kUsage, {"int4", "float32", "int8"},
               [] { arithmetic_from_name("int4"); });
}

}  // namespace
}  // namespace vig::test
