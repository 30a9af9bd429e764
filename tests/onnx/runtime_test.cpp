// Exported networks give the engine's results, by the definitions of their operators and in ONNX
// Runtime.
#include <gtest/gtest.h>

#include <algorithm>

#include "onnx/evaluator.h"
#include "onnx/network_runs.h"
#include "onnx/onnx_runtime.h"
#include "support/tree.h"
#include "vig/graph/builder.h"
#include "vig/onnx/export.h"
#include "vig/weights/elements.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

constexpr int kBatch = 2;

class OnnxRuntime : public ::testing::TestWithParam<NetworkCase> {
 protected:
  static void SetUpTestSuite() { missing_ = onnx_runtime_missing(); }
  void SetUp() override {
    if (!missing_.empty()) GTEST_SKIP() << missing_;
  }
  static std::string missing_;
};
std::string OnnxRuntime::missing_;

void expect_engines_agree(const NetworkCase& description, bool ort, Executor execute) {
  const Network network(description);
  std::vector<Values> images;
  for (uint64_t image = 0; image < kBatch; ++image) images.push_back(network.image(7 + image));
  const Graph& graph = network.graph;
  OnnxOptions options;
  options.ort = ort;
  options.outputs = {graph.outputs.back().name};
  const std::string bytes = export_onnx(graph, *network.weights, options);
  EXPECT_LT(distance(execute(bytes, file_inputs(graph, images)), engine_output(network, images)),
            2 * description.tolerance);
}

TEST_P(OnnxRuntime, EqualsTheEngine) { expect_engines_agree(GetParam(), false, run_onnx); }

INSTANTIATE_TEST_SUITE_P(Networks, OnnxRuntime, ::testing::ValuesIn(network_cases()),
                         [](const auto& network) { return network.param.name; });

class OnnxDefinitions : public ::testing::TestWithParam<NetworkCase> {};

TEST_P(OnnxDefinitions, EqualTheEngine) { expect_engines_agree(GetParam(), false, evaluate_onnx); }

INSTANTIATE_TEST_SUITE_P(Networks, OnnxDefinitions, ::testing::ValuesIn(network_cases()),
                         [](const auto& network) { return network.param.name; });

// Values under the roots of norms so large that leaving one out shows.
Graph make_epsilons(int height, int width) {
  Builder b;
  Value x = b.input("image", {height, width, 3});
  x = b.batch_norm(b.conv(x, "conv", 8, {.kernel = 3, .padding = 1}), "folded", {.eps = 0.5f});
  x = b.activation(x, Elementwise::kSilu);
  x = b.batch_norm(x, "apart", {.eps = 0.25f});
  x = b.layer_norm(x, "layer", 0.75f);
  x = b.rms_norm(b.rms_norm(x, "rms", 0.6f), "grouped", 1.5f, 2);
  b.output("features", x);
  return std::move(b).finish();
}

// One weight with two norms, and one table for two grids of equally many cells.
Graph make_shared_parameters(int height, int width) {
  Builder b;
  const Value x = b.input("image", {height, width, 3});
  const Builder::ConvShape shape{.kernel = 3, .stride = 2, .padding = 1, .bias = false};
  const Value first = b.batch_norm(b.conv(x, "conv", 8, shape), "first");
  const Value second = b.batch_norm(b.conv(x, "conv", 8, shape), "second");
  const Value wide = b.add_position(b.add(first, second), "table", 3, 2, normal_init(1.0f));
  const Grid grid = b.grid(wide);
  const Value turned = b.resize(wide, grid.width, grid.height, Resampling::kNearest);
  const Value high = b.add_position(turned, "table", 3, 2, normal_init(1.0f));
  b.output("features", b.add(wide, b.resize(high, grid.height, grid.width, Resampling::kNearest)));
  return std::move(b).finish();
}

TEST(OnnxValues, NormsHaveTheirEpsilons) {
  expect_engines_agree({"epsilons", "", {}, 9, 7, 1e-5, make_epsilons}, false, evaluate_onnx);
}

TEST(OnnxValues, SharedParametersKeepTheValuesOfEachUse) {
  expect_engines_agree({"shared", "", {}, 10, 14, 1e-5, make_shared_parameters}, false,
                       evaluate_onnx);
}

// Networks of their published size, at the size of the paper's tables and at another, oblong one.
std::vector<NetworkCase> whole_networks(const std::vector<std::string>& models) {
  std::vector<NetworkCase> cases;
  for (const std::string& model : models) {
    // Two engines sum in other orders through dozens of layers.
    constexpr double kTolerance = 5e-5;
    cases.push_back({model + "_224", model, {}, 224, 224, kTolerance});
    cases.push_back({model + "_512x384", model, {}, 512, 384, kTolerance});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Whole, OnnxRuntime,
                         ::testing::ValuesIn(whole_networks({"vig_t", "vig_h_t", "deit_t", "swin_t",
                                                             "resnet50", "convnext_t", "vim_t",
                                                             "vrwkv_t", "vmamba_t"})),
                         [](const auto& network) { return network.param.name; });

class OnnxRuntimeOperator : public OnnxRuntime {};

TEST_P(OnnxRuntimeOperator, EqualsTheEngine) { expect_engines_agree(GetParam(), true, run_onnx); }

// Those with gated linear attention.
std::vector<NetworkCase> scanning_networks() {
  std::vector<NetworkCase> found;
  for (const NetworkCase& network : network_cases()) {
    const Graph graph = network.graph();
    const bool scans = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
      return std::holds_alternative<GlaOp>(node.op);
    });
    if (scans) found.push_back(network);
  }
  return found;
}

TEST(OnnxValues, TheOperatorOfOnnxRuntimeEqualsTheEngine) {
  for (const NetworkCase& network : scanning_networks()) {
    SCOPED_TRACE(network.name);
    expect_engines_agree(network, true, evaluate_onnx);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, OnnxRuntimeOperator, ::testing::ValuesIn(scanning_networks()),
                         [](const auto& network) { return network.param.name; });

INSTANTIATE_TEST_SUITE_P(Whole, OnnxRuntimeOperator,
                         ::testing::ValuesIn(whole_networks({"vig_t", "vig_h_t"})),
                         [](const auto& network) { return network.param.name; });

// A bare scan with the gates of a golden case, against float64 results of the paper's equations.
void expect_scan_agrees(const std::string& name, bool ort, Executor execute) {
  SCOPED_TRACE(name);
  const SafeTensors file =
      SafeTensors::open(std::string(kFixtures) + "/golden/bigla-" + name + ".safetensors");
  const auto read = [&](const char* tensor) { return to_floats(file.find(tensor)->view); };
  const Shape keys = file.find("q")->view.shape, values = file.find("v")->view.shape;
  const int64_t batch = keys[0], tokens = keys[1];
  const int heads = static_cast<int>(keys[2]), key_dim = static_cast<int>(keys[3]);
  const int value_dim = static_cast<int>(values[3]);
  Builder b;
  const int qkv_width = heads * (2 * key_dim + value_dim), gate_width = 2 * heads * key_dim;
  const Value qkv = b.input("qkv", {1, static_cast<int>(tokens), qkv_width});
  const Value gates = b.input("gates", {1, static_cast<int>(tokens), gate_width});
  b.output("o", b.gla(qkv, gates, {heads, key_dim, value_dim, GlaDirection::kBoth}));
  const Graph graph = std::move(b).finish();
  // Tensors [B, T, H, K or V] side by side.
  const auto beside = [&](const std::vector<Values>& parts) {
    Values concatenated;
    for (int64_t row = 0; row < batch * tokens; ++row) {
      for (const Values& part : parts) {
        const auto width = static_cast<int64_t>(part.size()) / (batch * tokens);
        concatenated.insert(concatenated.end(), part.begin() + row * width,
                            part.begin() + (row + 1) * width);
      }
    }
    return concatenated;
  };
  OnnxOptions options;
  options.ort = ort;
  options.outputs = {"o"};
  const Values o =
      execute(export_onnx(graph, *random_weights(graph.params, 1), options),
              {{"qkv", {{batch, tokens, qkv_width}, beside({read("q"), read("k"), read("v")})}},
               {"gates",
                {{batch, tokens, gate_width},
                 beside({read("gate_logit_forward"), read("gate_logit_backward")})}}});
  EXPECT_LT(distance(o, read("o")), 1e-5);
}

constexpr const char* kScans[] = {"forget", "mixed", "remember", "t1", "t7", "t64", "t197"};

TEST(OnnxRuntimeScan, ExtremeGatesNeitherOverflowNorVanish) {
  const std::string missing = onnx_runtime_missing();
  if (!missing.empty()) GTEST_SKIP() << missing;
  for (const char* name : kScans) {
    expect_scan_agrees(name, false, run_onnx);
    expect_scan_agrees(name, true, run_onnx);
  }
}

TEST(OnnxValues, ScansAreTheEquationsOfThePaper) {
  for (const char* name : kScans) {
    expect_scan_agrees(name, false, evaluate_onnx);
    expect_scan_agrees(name, true, evaluate_onnx);
  }
}

}  // namespace
}  // namespace vig::test
