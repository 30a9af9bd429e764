// What exported files say: names, shapes, operators. That onnx's checker passes them is part of
// exporting.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "onnx/evaluator.h"
#include "onnx/model_proto.h"
#include "onnx/onnx_runtime.h"
#include "runtime/networks.h"
#include "support/errors.h"
#include "vig/base/error.h"
#include "vig/graph/builder.h"
#include "vig/onnx/export.h"

namespace vig::test {
namespace {

::onnx::ModelProto exported(const std::string& model, int height, int width,
                            const OnnxOptions& options = {}) {
  const Graph graph = build_graph(find_model(model), height, width);
  return parse(export_onnx(graph, *random_weights(graph.params, 1), options));
}

// "batch 3 224 224"
std::string shape(const ::onnx::ValueInfoProto& value) {
  std::string text;
  for (const auto& axis : value.type().tensor_type().shape().dim()) {
    if (!text.empty()) text += ' ';
    text += axis.has_dim_value() ? std::to_string(axis.dim_value()) : axis.dim_param();
  }
  return text;
}

// Every miniature and every row of the roadmap, each at a size of its own.
TEST(OnnxExport, EveryFamilyHasTheSameInputAndOutput) {
  int models = 0;
  for (const ModelSpec& spec : model_zoo()) {
    const bool roadmap = spec.name.starts_with("gla_t");
    if (!spec.name.starts_with("test_") && !roadmap) continue;
    if (spec.config->task() != ModelTask::kClassify) continue;
    SCOPED_TRACE(spec.name);
    const int side = spec.recipe.crop;
    const ::onnx::ModelProto model = exported(spec.name, side, side);
    ++models;
    EXPECT_EQ(model.ir_version(), 8);
    ASSERT_EQ(model.opset_import_size(), 1);
    EXPECT_EQ(model.opset_import(0).domain(), "");
    EXPECT_EQ(model.opset_import(0).version(), 17);
    const ::onnx::GraphProto& graph = model.graph();
    ASSERT_EQ(graph.input_size(), 1);
    EXPECT_EQ(graph.input(0).name(), "image");
    EXPECT_EQ(shape(graph.input(0)),
              "batch 3 " + std::to_string(side) + " " + std::to_string(side));
    ASSERT_EQ(graph.output_size(), 1);
    EXPECT_EQ(graph.output(0).name(), "logits");
    EXPECT_EQ(shape(graph.output(0)), "batch " + std::to_string(model_classes(spec)));
    // The checker skips domains that it does not know.
    for (const auto& [name, times] : operators(model)) {
      EXPECT_EQ(name.find('.'), std::string::npos) << name;
    }
  }
  EXPECT_GE(models, 18);
}

TEST(OnnxExport, NamesAreUniqueAlsoInsideBodies) {
  std::set<std::string> names;
  const auto visit = [&names](const ::onnx::GraphProto& graph, const auto& self) -> void {
    for (const auto& value : graph.input()) EXPECT_TRUE(names.insert(value.name()).second);
    for (const auto& tensor : graph.initializer()) {
      EXPECT_TRUE(names.insert(tensor.name()).second) << tensor.name();
    }
    for (const ::onnx::NodeProto& node : graph.node()) {
      for (const std::string& name : node.output()) {
        EXPECT_TRUE(names.insert(name).second) << name;
      }
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) self(attribute.g(), self);
      }
    }
  };
  visit(exported("test_vim", 64, 64).graph(), visit);
  EXPECT_GT(names.size(), 100u);
}

TEST(OnnxExport, ConvolutionsStayInPlanesAndTakeTheirNorms) {
  auto resnet = operators(exported("test_resnet", 64, 64));
  EXPECT_EQ(resnet.count("Transpose"), 0u);
  EXPECT_EQ(resnet.count("BatchNormalization"), 0u);
  EXPECT_EQ(resnet.count("Mul"), 0u) << "a norm that was not folded";
  // To rows for the norm, and back behind the branch, once a block; the stem's norm, those before
  // the later stages and the one of the head.
  const Graph graph = build_graph(find_model("test_convnext"), 64, 64);
  const auto depthwise = std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) {
    return std::holds_alternative<DepthwiseConvOp>(n.op);
  });
  auto convnext = operators(exported("test_convnext", 64, 64));
  EXPECT_LE(convnext["Transpose"], 2 * depthwise + 2 * 4);
}

TEST(OnnxExport, TransformersTransposeHeadsAlone) {
  const Graph graph = build_graph(find_model("test_deit"), 64, 64);
  const auto blocks = std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return std::holds_alternative<AttentionOp>(node.op);
  });
  auto deit = operators(exported("test_deit", 64, 64));
  // q, k, v, the keys once more for the product, and the result; and the patches.
  EXPECT_EQ(deit["Transpose"], 5 * blocks + 1);
  EXPECT_EQ(deit["LayerNormalization"], 2 * blocks + 1);
  EXPECT_EQ(deit["Erf"], blocks);
  EXPECT_EQ(deit["Gemm"], 1) << "the head is a product with bias";
}

TEST(OnnxExport, ConstantsAreStoredOnce) {
  std::set<std::string> contents;
  const ::onnx::ModelProto model = exported("test_vig", 64, 64);
  int constants = 0;
  for (const ::onnx::TensorProto& tensor : model.graph().initializer()) {
    if (!tensor.name().starts_with("constant_")) continue;
    ++constants;
    std::string key = tensor.raw_data();
    for (int64_t size : tensor.dims()) key += "," + std::to_string(size);
    EXPECT_TRUE(contents.insert(key).second) << tensor.name();
  }
  EXPECT_GE(constants, 5);
}

// The constant of these dimensions, which is there once.
Values constant(const ::onnx::ModelProto& model, const std::vector<int64_t>& dims) {
  Values values;
  int found = 0;
  for (const ::onnx::TensorProto& tensor : model.graph().initializer()) {
    if (!std::ranges::equal(tensor.dims(), dims)) continue;
    ++found;
    values.resize(tensor.raw_data().size() / sizeof(float));
    std::memcpy(values.data(), tensor.raw_data().data(), tensor.raw_data().size());
  }
  EXPECT_EQ(found, 1);
  return values;
}

// Cells of a grid that they do not divide overlap: two halves of three rows share the middle one.
TEST(OnnxExport, PooledCellsCoverTheGrid) {
  Builder b;
  b.output("cells", b.adaptive_pool(b.input("map", {3, 5, 4}), 2));
  const Graph graph = std::move(b).finish();
  OnnxOptions options;
  options.outputs = {"cells"};
  const ::onnx::ModelProto model =
      parse(export_onnx(graph, *random_weights(graph.params, 1), options));
  const Values shares = constant(model, {4, 15});
  ASSERT_EQ(shares.size(), 60u);
  const float s = 1.0f / 6;
  const Values expected = {s, s, s, 0, 0, s, s, s, 0, 0, 0, 0, 0, 0, 0,  // the upper left
                           0, 0, s, s, s, 0, 0, s, s, s, 0, 0, 0, 0, 0,  //
                           0, 0, 0, 0, 0, s, s, s, 0, 0, s, s, s, 0, 0,  //
                           0, 0, 0, 0, 0, 0, 0, s, s, s, 0, 0, s, s, s};
  EXPECT_EQ(shares, expected);
}

TEST(OnnxExport, ARowOfATableIsItsOwn) {
  Builder b;
  b.output("sum", b.add_row(b.input("map", {2, 2, 4}), "table", 3, 2, normal_init(1.0f)));
  const Graph graph = std::move(b).finish();
  const auto weights = random_weights(graph.params, 1);
  OnnxOptions options;
  options.outputs = {"sum"};
  const ::onnx::ModelProto model = parse(export_onnx(graph, *weights, options));
  const float* const row = weights->data(0) + 2 * 4;
  EXPECT_EQ(constant(model, {4, 1, 1}), Values(row, row + 4));
}

TEST(OnnxExport, OtherOutputsOnRequest) {
  OnnxOptions options;
  options.outputs = {"features", "pooled"};
  const ::onnx::ModelProto model = exported("test_vig", 64, 96, options);
  ASSERT_EQ(model.graph().output_size(), 2);
  EXPECT_EQ(model.graph().output(0).name(), "features");
  EXPECT_EQ(shape(model.graph().output(0)), "batch 64 4 6");
  EXPECT_EQ(shape(model.graph().output(1)), "batch 64");
  for (const ::onnx::TensorProto& tensor : model.graph().initializer()) {
    EXPECT_FALSE(tensor.name().starts_with("head")) << "nothing asks for it";
  }
  options.outputs = {"nothing"};
  expect_error(ErrorCode::kUsage, {"no output nothing", "features, pooled, logits"},
               [&] { exported("test_vig", 64, 64, options); });
}

TEST(OnnxExport, TheOperatorOfOnnxRuntimeHasItsDomain) {
  OnnxOptions options;
  options.ort = true;
  const ::onnx::ModelProto model = exported("test_vig", 64, 64, options);
  ASSERT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.opset_import(1).domain(), "com.microsoft");
  EXPECT_EQ(model.opset_import(1).version(), 1);
  auto counted = operators(model);
  EXPECT_EQ(counted["com.microsoftLinearAttention"], 2 * 2) << "two blocks, two directions";
  EXPECT_EQ(counted.count("CumSum"), 0u);
  // Without scans the files are the same.
  EXPECT_EQ(exported("test_deit", 64, 64, options).SerializeAsString(),
            exported("test_deit", 64, 64).SerializeAsString());
}

TEST(OnnxExport, SizesMayBeSymbolicWhereNothingFixesThem) {
  OnnxOptions any;
  any.any_size = true;
  const std::string missing = onnx_runtime_missing();
  for (const char* name : {"test_resnet", "test_convnext", "test_regnet", "test_efficientnet"}) {
    SCOPED_TRACE(name);
    const ::onnx::ModelProto model = exported(name, 64, 64, any);
    EXPECT_EQ(shape(model.graph().input(0)), "batch 3 height width");
    for (const auto& [height, width] : {std::pair(64, 64), std::pair(75, 98)}) {
      const Values pixels = image(height, width, 3);
      const std::map<std::string, OnnxInput> input = {{"image", {{1, 3, height, width}, pixels}}};
      const auto run = [&](const ::onnx::ModelProto& file) {
        return missing.empty() ? run_onnx(file.SerializeAsString(), input)
                               : evaluate_onnx(file.SerializeAsString(), input);
      };
      const Values fixed = run(exported(name, height, width)), symbolic = run(model);
      ASSERT_EQ(fixed.size(), symbolic.size());
      for (size_t i = 0; i < fixed.size(); ++i) EXPECT_NEAR(fixed[i], symbolic[i], 1e-4);
    }
  }
  for (const auto& [name, reason] : {std::pair("test_deit", "insert_rows"),
                                     {"test_vig", "add_position (pos_embed)"},
                                     {"test_vig_h", "gla"},
                                     {"test_swin", "window_attention"},
                                     {"test_vmamba", "selective_scan"},
                                     {"test_gmlp", "token_linear"}}) {
    SCOPED_TRACE(name);
    expect_error(ErrorCode::kUsage, {std::string("--size any: ") + reason},
                 [&, model = name] { exported(model, 64, 64, any); });
  }
}

// Before a file is given away onnx's checker has passed it: here a value is made twice.
TEST(OnnxExport, WhatTheCheckerRefusesIsNotGiven) {
  Builder b;
  b.output("map", b.activation(b.input("map", {2, 2, 4}), Elementwise::kRelu));
  const Graph graph = std::move(b).finish();
  OnnxOptions options;
  options.outputs = {"map"};
  expect_error(ErrorCode::kInput, {"onnx's checker refuses the model", "map"},
               [&] { export_onnx(graph, *random_weights(graph.params, 1), options); });
}

// Results bear the names of the layers that they come from, and their shapes are declared.
TEST(OnnxExport, LayersHaveTheirNamesAndShapes) {
  const ::onnx::ModelProto model = exported("test_vig", 64, 96);
  EXPECT_EQ(model.producer_name(), "vig");
  std::set<std::string> layers;
  for (const ::onnx::NodeProto& node : model.graph().node()) {
    layers.insert(node.name().substr(0, node.name().rfind('/')));
  }
  std::map<std::string, std::string> shapes;
  for (const auto& value : model.graph().value_info()) shapes[value.name()] = shape(value);
  const Graph graph = build_graph(find_model("test_vig"), 64, 96);
  size_t declared = 0;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const std::string label = graph.label(static_cast<int>(id));
    if (label.empty()) continue;
    EXPECT_TRUE(layers.contains(label)) << label;
    const Grid& grid = graph.nodes[id].grid;
    const std::string rows = fmt::format("batch {} {}", grid.positions(), grid.channels);
    const std::string planes =
        fmt::format("batch {} {} {}", grid.channels, grid.height, grid.width);
    declared += std::ranges::any_of(shapes, [&](const auto& one) {
      return one.first.starts_with(label + "/") &&
             (one.second == rows || one.second == planes ||
              one.second == fmt::format("batch {}", grid.channels));
    });
  }
  EXPECT_GE(layers.size(), 20u);
  EXPECT_GE(declared, 20u);
}

TEST(OnnxExport, MetadataIsInTheFile) {
  OnnxOptions options;
  options.metadata = {{"a", "1"}, {"b", "two"}};
  const ::onnx::ModelProto model = exported("test_vig", 64, 64, options);
  ASSERT_EQ(model.metadata_props_size(), 2);
  EXPECT_EQ(model.metadata_props(1).key(), "b");
  EXPECT_EQ(model.metadata_props(1).value(), "two");
}

}  // namespace
}  // namespace vig::test
