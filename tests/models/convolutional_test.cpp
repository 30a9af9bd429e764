// ResNet, ConvNeXt, RegNetY and EfficientNet: their recipes and drop rates.
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
