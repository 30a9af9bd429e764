// Files with int8 products: which layers are, with which codes, and what they compute.
//
// A file quantises each value as a whole, with a zero point; the engine each row by itself, without
// one. So their results differ, about as much as either differs from float.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "onnx/evaluator.h"
#include "onnx/model_proto.h"
#include "onnx/network_runs.h"
#include "onnx/onnx_runtime.h"
#include "support/errors.h"
#include "vig/graph/builder.h"
#include "vig/onnx/export.h"
#include "vig/runtime/int8_weights.h"

namespace vig::test {
namespace {

const Precision kInt8 = {Arithmetic::kInt8, {}};

std::string int8_file(const Graph& graph, const Weights& weights, Precision precision = kInt8) {
  OnnxOptions options;
  options.precision = std::move(precision);
  options.outputs = {graph.outputs.back().name};
  return export_onnx(graph, weights, options);
}

// The layers whose weights are codes.
std::set<std::string> int8_layers(const ::onnx::ModelProto& model) {
  std::set<std::string> layers;
  for (const ::onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.data_type() != ::onnx::TensorProto::INT8) continue;
    layers.insert(tensor.name().substr(0, tensor.name().find(".weight_codes")));
  }
  return layers;
}

TEST(OnnxInt8, LayersFollowTheRuleOfTheEngine) {
  const Graph graph = build_graph(find_model("test_vig"), 64, 64);
  const auto weights = random_weights(graph.params, 1);
  const Precision some = {Arithmetic::kInt8, {"blocks.0.*"}};
  for (const Precision& precision : {kInt8, some}) {
    std::set<std::string> expected;
    for (const Node& node : graph.nodes) {
      if (std::holds_alternative<LinearOp>(node.op) && uses_int8(precision, graph, node)) {
        expected.insert(layer_name(graph, node));
      }
    }
    EXPECT_GE(expected.size(), 5u);
    EXPECT_EQ(int8_layers(parse(int8_file(graph, *weights, precision))), expected);
  }
}

TEST(OnnxInt8, CodesAreThoseOfTheEngine) {
  const Graph graph = build_graph(find_model("test_deit"), 64, 64);
  const auto weights = random_weights(graph.params, 1);
  const ::onnx::ModelProto model = parse(int8_file(graph, *weights));
  int found = 0;
  for (const ::onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.data_type() != ::onnx::TensorProto::INT8) continue;
    const std::string name = tensor.name().substr(0, tensor.name().find("_codes_transposed"));
    const auto [codes, scales] = int8_weights(*weights, weights->index(name));
    const auto inputs = static_cast<size_t>(tensor.dims(0)), outputs = scales.size();
    ASSERT_EQ(tensor.raw_data().size(), codes.size());
    ASSERT_EQ(tensor.dims(1), static_cast<int64_t>(outputs));
    for (size_t i = 0; i < codes.size(); ++i) {
      const size_t n = i % outputs, k = i / outputs;
      ASSERT_EQ(static_cast<int8_t>(tensor.raw_data()[i]), codes[n * inputs + k]) << name;
    }
    ++found;
  }
  EXPECT_EQ(found, 2 * 4) << "qkv, proj, fc1 and fc2 of two blocks";
}

TEST(OnnxInt8, AValueIsQuantisedOnce) {
  Builder b;
  const Value x = b.input("x", {1, 6, 32});
  const Value y = b.mul(b.linear(x, "a", 32, true, normal_init(1.0f), normal_init(1.0f)),
                        b.linear(x, "b", 32, true, normal_init(1.0f), normal_init(1.0f)));
  b.output("y", b.add(y, b.linear(y, "c", 32, true, normal_init(1.0f), normal_init(1.0f))));
  const Graph graph = std::move(b).finish();
  auto counted = operators(parse(int8_file(graph, *random_weights(graph.params, 1))));
  EXPECT_EQ(counted["MatMulInteger"], 3);
  EXPECT_EQ(counted["DynamicQuantizeLinear"], 2);
  EXPECT_EQ(counted["MatMul"], 0);
}

TEST(OnnxInt8, FilesWithoutAnInt8LayerAreRefused) {
  const Graph graph = build_graph(find_model("test_resnet"), 64, 64);
  expect_error(ErrorCode::kUsage, {"convolutions stay float32"},
               [&] { int8_file(graph, *random_weights(graph.params, 1)); });
}

// Rows of very different sizes: what one scale for all of them costs, by its own rounding.
TEST(OnnxInt8, OneLayerIsWithinTheRoundingOfItsOperands) {
  constexpr int kRows = 5, kChannels = 40;
  Builder b;
  const Value x = b.input("x", {1, kRows, kChannels});
  b.output("y",
           b.add(x, b.linear(x, "layer", kChannels, true, normal_init(1.0f), normal_init(1.0f))));
  const Graph graph = std::move(b).finish();
  const auto weights = lively_weights(graph, 3);
  Values in(kRows * kChannels);
  for (int i = 0; i < kRows * kChannels; ++i) {
    in[static_cast<size_t>(i)] =
        std::sin(1.7f * static_cast<float>(i)) * std::pow(0.5f, static_cast<float>(i / kChannels));
  }
  const Values out = evaluate_onnx(int8_file(graph, *weights), file_inputs(graph, {in}));
  const auto [least, most] = std::minmax_element(in.begin(), in.end());
  const double row_scale = (double{*most} - *least) / 255;
  const Int8Weights codes = int8_weights(*weights, 0);
  ASSERT_EQ(out.size(), in.size());
  double largest = 0;
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t n = 0; n < kChannels; ++n) {
      double expected = in[r * kChannels + n] + weights->data(1)[n], bound = 1e-5;
      for (size_t k = 0; k < kChannels; ++k) {
        const double value = in[r * kChannels + k], weight = weights->data(0)[n * kChannels + k];
        const double scale = codes.scales[n];
        expected += value * weight;
        // A value is off by half its scale, and as much again where rounding the zero point moved
        // the ends of the range; a weight by half its scale.
        bound += row_scale * (std::fabs(weight) + scale / 2) + std::fabs(value) * scale / 2;
      }
      const double error = std::fabs(out[r * kChannels + n] - expected);
      EXPECT_LE(error, bound) << "row " << r << " channel " << n;
      largest = std::max(largest, error);
    }
  }
  EXPECT_GT(largest, 1e-4) << "the layer was not int8";
}

// Root of the mean square of the differences, as a share of that of the expected numbers.
double relative_error(const Values& actual, const Values& expected) {
  if (actual.size() != expected.size()) return INFINITY;
  double differences = 0, squares = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = static_cast<double>(actual[i]) - expected[i];
    differences += difference * difference;
    squares += static_cast<double>(expected[i]) * expected[i];
  }
  return std::sqrt(differences / squares);
}

// Networks with matrix products that int8 computes.
std::vector<NetworkCase> int8_networks() {
  std::vector<NetworkCase> found;
  for (const NetworkCase& network : network_cases()) {
    const Graph graph = network.graph();
    const bool products = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) {
      return std::holds_alternative<LinearOp>(n.op) && uses_int8(kInt8, graph, n);
    });
    if (products) found.push_back(network);
  }
  return found;
}

struct Compared {
  const Network floats, integers;
  const std::vector<Values> images;
  const std::string file;

  explicit Compared(const NetworkCase& description)
      : floats(description),
        integers(description, 1, kInt8),
        images{floats.image(7)},
        file(int8_file(floats.graph, *floats.weights)) {}
  Values run(Executor execute) const { return execute(file, file_inputs(floats.graph, images)); }
};

class OnnxInt8Networks : public ::testing::TestWithParam<NetworkCase> {};

// The engine's own error is the measure: values of a few positions alone amplify any rounding.
TEST_P(OnnxInt8Networks, AreWithinTheErrorOfQuantisation) {
  const Compared compared(GetParam());
  const Values ours = engine_output(compared.integers, compared.images);
  const double error = relative_error(ours, engine_output(compared.floats, compared.images));
  EXPECT_LE(relative_error(compared.run(evaluate_onnx), ours), 5 * std::max(error, 0.01));
}

// Last bits of floats may move a value over the border between two codes.
TEST_P(OnnxInt8Networks, AreTheirDefinitionsInOnnxRuntime) {
  const std::string missing = onnx_runtime_missing();
  if (!missing.empty()) GTEST_SKIP() << missing;
  const Compared compared(GetParam());
  EXPECT_LE(relative_error(compared.run(run_onnx), compared.run(evaluate_onnx)), 0.03);
}

INSTANTIATE_TEST_SUITE_P(Networks, OnnxInt8Networks, ::testing::ValuesIn(int8_networks()),
                         [](const auto& network) { return network.param.name; });

TEST(OnnxRuntimeInt8, ProductsAreOneOperationEach) {
  const std::string missing = onnx_runtime_missing();
  if (!missing.empty()) GTEST_SKIP() << missing;
  for (const char* name : {"test_vig", "test_deit"}) {
    SCOPED_TRACE(name);
    const Graph graph = build_graph(find_model(name), 64, 64);
    const std::string file = int8_file(graph, *random_weights(graph.params, 1));
    auto written = operators(parse(file)), executed = operators(parse(optimized_onnx(file)));
    EXPECT_GT(written["MatMulInteger"], 0);
    EXPECT_EQ(executed["MatMulInteger"], 0);
    // The second where several products read one value.
    EXPECT_EQ(executed["com.microsoftDynamicQuantizeMatMul"] +
                  executed["com.microsoftMatMulIntegerToFloat"],
              written["MatMulInteger"]);
    EXPECT_GT(executed["com.microsoftDynamicQuantizeMatMul"], 0);
  }
}

}  // namespace
}  // namespace vig::test
