// ResNet, ConvNeXt, RegNetY and EfficientNet as published.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "support/files.h"
#include "support/peers.h"
#include "vig/models/registry.h"

namespace vig::test {
namespace {

using nlohmann::json;

Graph build(const std::string& model, std::map<std::string, std::string> fields = {}) {
  ModelSpec spec = find_model(model);
  override_fields(spec, fields);
  return build_graph(spec, spec.recipe.crop, spec.recipe.crop);
}

struct Figures {
  int64_t parameters;
  double giga;       // multiply-adds at the model's own size, in units of 1e9
  double precision;  // of that figure as it is printed
};

TEST(Convolutional, ParametersAndMultiplyAdds) {
  const std::map<std::string, Figures> expected = {
      {"resnet50", {25557032, 4.089, 1e-3}},
      {"convnext_t", {28589128, 4.456, 1e-3}},
      {"convnext_s", {50223688, 8.684, 1e-3}},
      {"convnext_b", {88591464, 15.355, 1e-3}},
      {"regnety_4g", {20646656, 3.9733, 1e-4}},
      {"regnety_8g", {39180068, 7.9631, 1e-4}},
      {"regnety_8g_tv", {39381472, 8.4731, 1e-4}},
      {"regnety_16g", {83590140, 15.9115, 1e-4}},
      {"efficientnet_b3", {12233232, 1.8271, 1e-4}},
      {"efficientnet_b4", {19341616, 4.3938, 1e-4}},
      {"efficientnet_b5", {30389784, 10.2664, 1e-4}},
      {"efficientnet_b6", {43040704, 19.0676, 1e-4}},
      {"efficientnet_b7", {66347960, 37.7459, 1e-4}},
  };
  for (const auto& [model, figures] : expected) {
    const Graph graph = build(model);
    EXPECT_EQ(graph.param_count(), figures.parameters) << model;
    const MacCount macs = count_macs(graph);
    EXPECT_EQ(macs.scan, 0) << model;
    EXPECT_NEAR(static_cast<double>(macs.dense) / 1e9, figures.giga, 0.5001 * figures.precision)
        << model;
  }
  for (const ModelSpec& spec : model_zoo()) {
    for (const char* family : {"resnet", "convnext", "regnet", "efficientnet"}) {
      if (spec.family != family || spec.name.starts_with("test_")) continue;
      EXPECT_TRUE(expected.contains(spec.name)) << spec.name << " is not counted here";
    }
  }
}

using Shapes = std::map<std::string, std::vector<int64_t>>;

Shapes shapes_of(const Graph& graph) {
  Shapes shapes;
  for (const ParamSpec& param : graph.params) shapes[param.name] = param.shape.sizes();
  return shapes;
}

TEST(Convolutional, EveryTensorOfTheManifests) {
  struct Entry {
    const char *file, *key, *model;
  };
  const Entry entries[] = {
      {"", "resnet50", "resnet50"},
      {"", "convnext_tiny", "convnext_t"},
      {"", "convnext_small", "convnext_s"},
      {"", "convnext_base", "convnext_b"},
      {"_more", "regnet_y_4gf_paper_torchvision_names", "regnety_4g"},
      {"_more", "regnet_y_8gf_paper_torchvision_names", "regnety_8g"},
      {"_more", "regnet_y_8gf", "regnety_8g_tv"},
      {"_more", "regnet_y_16gf", "regnety_16g"},
      {"_more", "efficientnet_b3", "efficientnet_b3"},
      {"_more", "efficientnet_b4", "efficientnet_b4"},
      {"_more", "efficientnet_b5", "efficientnet_b5"},
      {"_more", "efficientnet_b6", "efficientnet_b6"},
      {"_more", "efficientnet_b7", "efficientnet_b7"},
  };
  const auto folder = peers_beside_tree();
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  for (const Entry& entry : entries) {
    const json all = json::parse(
        read_file(folder / (std::string("state_dict_manifest") + entry.file + ".json")));
    const json& manifest = all.at(entry.key);
    Shapes expected;
    for (const char* kind : {"params", "buffers"}) {
      for (const auto& [name, shape] : manifest.at(kind).items()) {
        if (name.ends_with(".num_batches_tracked")) continue;
        expected[name] = shape.get<std::vector<int64_t>>();
      }
    }
    EXPECT_EQ(shapes_of(build(entry.model)), expected) << entry.model;
  }
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
