// ResNet, ConvNeXt, RegNetY and EfficientNet: their names and drop rates.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "vig/models/family.h"

namespace vig::test {
namespace {

Graph build(const std::string& model, std::map<std::string, std::string> fields = {}) {
  ModelSpec spec = find_model(model);
  override_fields(spec, fields);
  return build_graph(spec, spec.recipe.crop, spec.recipe.crop);
}

using Shapes = std::map<std::string, std::vector<int64_t>>;

Shapes shapes_of(const Graph& graph) {
  Shapes shapes;
  for (const ParamSpec& param : graph.params) shapes[param.name] = param.shape.sizes();
  return shapes;
}

// The same tensors under timm's names: as many, of the same sizes.
TEST(Convolutional, TimmsNamesChangeNothingElse) {
  const std::map<std::string, std::string> some = {
      {"convnext_t", "stages.1.blocks.0.mlp.fc1.weight"},
      {"regnety_4g", "s2.b1.downsample.conv.weight"},
      {"efficientnet_b3", "blocks.0.0.conv_pw.weight"}};
  for (const auto& [model, name] : some) {
    const Graph graph = build(model), timm = build(model, {{"names", "timm"}});
    EXPECT_EQ(timm.param_count(), graph.param_count());
    EXPECT_EQ(count_macs(timm).dense, count_macs(graph).dense);
    ASSERT_EQ(timm.params.size(), graph.params.size());
    for (size_t i = 0; i < graph.params.size(); ++i) {
      EXPECT_EQ(timm.params[i].shape, graph.params[i].shape) << timm.params[i].name;
      EXPECT_EQ(timm.params[i].init, graph.params[i].init) << timm.params[i].name;
    }
    EXPECT_TRUE(shapes_of(timm).contains(name)) << name;
    EXPECT_FALSE(shapes_of(graph).contains(name)) << name;
  }
}

// As the published weights were measured.
TEST(Convolutional, Recipes) {
  const std::map<std::string, std::pair<int, int>> sizes = {
      {"resnet50", {256, 224}},        {"convnext_b", {256, 224}},
      {"regnety_16g", {256, 224}},     {"efficientnet_b3", {320, 300}},
      {"efficientnet_b4", {384, 380}}, {"efficientnet_b5", {456, 456}},
      {"efficientnet_b6", {528, 528}}, {"efficientnet_b7", {600, 600}}};
  for (const auto& [model, expected] : sizes) {
    const ModelSpec spec = find_model(model);
    EXPECT_EQ(spec.recipe.resize, expected.first) << model;
    EXPECT_EQ(spec.recipe.crop, expected.second) << model;
    EXPECT_EQ(spec.recipe.crop, spec.config->image_size) << model;
    const bool bilinear = spec.family == "resnet" || spec.family == "regnet";
    EXPECT_EQ(spec.recipe.interpolation == Interpolation::kBilinear, bilinear) << model;
  }
}

// Stochastic depth rises from none, on the blocks that have a branch to drop.
TEST(Convolutional, EfficientNetsDropRatesFollowTheBlocksNumber) {
  std::vector<double> rates;
  const Graph graph = build("efficientnet_b3");
  for (const Node& node : graph.nodes) {
    const auto* sum = std::get_if<AddOp>(&node.op);
    if (sum != nullptr) rates.push_back(sum->drop_rate);
  }
  ASSERT_EQ(rates.size(), 19u);  // 26 blocks, of which 7 have no shortcut
  EXPECT_NEAR(rates.front(), 0.2 * 1 / 26, 1e-7);
  EXPECT_NEAR(rates.back(), 0.2 * 25 / 26, 1e-7);
}

}  // namespace
}  // namespace vig::test
