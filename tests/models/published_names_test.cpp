// Tables of names: how rules apply, and timm's names of a tensor of every kind.
#include <gtest/gtest.h>

#include "vig/models/family.h"
#include "vig/models/not_built.h"

namespace vig::test {
namespace {

TEST(PublishedNames, RulesApplyToWholePartsInTheirOrder) {
  constexpr NameRule kRules[] = {
      {"^stem", "first"}, {"block#-#", "b#2.c#1"}, {"conv", "c", true}, {"s#", "t#1-1.u#1+1"}};
  const auto name = [&](std::string_view from) { return apply_rules(from, kRules).name; };
  EXPECT_EQ(name("stem.weight"), "first.weight");
  EXPECT_EQ(name("a.stem.weight"), "a.stem.weight");  // not at the begin
  EXPECT_EQ(name("stems.weight"), "stems.weight");    // not the whole part
  EXPECT_EQ(name("a.block12-3.bias"), "a.b3.c12.bias");
  EXPECT_EQ(name("a.block-3.bias"), "a.block-3.bias");
  EXPECT_EQ(name("conv.conv"), "c.conv");  // once
  EXPECT_EQ(name("stem.s10"), "first.t9.u11");
  EXPECT_TRUE(apply_rules("a.conv.weight", kRules).drop_ones);
  EXPECT_FALSE(apply_rules("a.convs.weight", kRules).drop_ones);
  EXPECT_EQ(name("s99999999999999999999.conv"), "s99999999999999999999.conv");  // no number
}

std::string ours(const char* family, std::string_view publisher, std::string_view name) {
  for (const PublishedNames& names : find_family(family).names) {
    if (names.publisher == publisher) return apply_rules(name, names.rules).name;
  }
  return "";
}

TEST(PublishedNames, OfTimm) {
  const struct {
    const char *family, *timm, *expected;
  } kCases[] = {
      {"convnext", "stem.0.weight", "downsample_layers.0.0.weight"},
      {"convnext", "stem.1.bias", "downsample_layers.0.1.bias"},
      {"convnext", "stages.2.downsample.0.weight", "downsample_layers.2.0.weight"},
      {"convnext", "stages.2.downsample.1.weight", "downsample_layers.2.1.weight"},
      {"convnext", "stages.3.blocks.12.conv_dw.weight", "stages.3.12.dwconv.weight"},
      {"convnext", "stages.3.blocks.1.norm.bias", "stages.3.1.norm.bias"},
      {"convnext", "stages.0.blocks.0.mlp.fc1.weight", "stages.0.0.pwconv1.weight"},
      {"convnext", "stages.0.blocks.0.mlp.fc2.bias", "stages.0.0.pwconv2.bias"},
      {"convnext", "stages.0.blocks.0.gamma", "stages.0.0.gamma"},
      {"convnext", "head.norm.weight", "norm.weight"},
      {"convnext", "head.fc.bias", "head.bias"},
      {"swin", "patch_embed.proj.weight", "patch_embed.proj.weight"},
      {"swin", "layers.1.downsample.reduction.weight", "layers.0.downsample.reduction.weight"},
      {"swin", "layers.1.blocks.0.mlp.fc1.weight", "layers.1.blocks.0.mlp.fc1.weight"},
      {"swin", "head.fc.weight", "head.weight"},
      {"regnet", "stem.conv.weight", "stem.0.weight"},
      {"regnet", "stem.bn.running_var", "stem.1.running_var"},
      {"regnet", "s3.b1.conv1.conv.weight", "trunk_output.block3.block3-0.f.a.0.weight"},
      {"regnet", "s3.b12.conv2.bn.bias", "trunk_output.block3.block3-11.f.b.1.bias"},
      {"regnet", "s1.b2.conv3.bn.weight", "trunk_output.block1.block1-1.f.c.1.weight"},
      {"regnet", "s1.b2.se.fc1.weight", "trunk_output.block1.block1-1.f.se.fc1.weight"},
      {"regnet", "s4.b1.downsample.conv.weight", "trunk_output.block4.block4-0.proj.0.weight"},
      {"regnet", "s4.b1.downsample.bn.weight", "trunk_output.block4.block4-0.proj.1.weight"},
      {"regnet", "head.fc.weight", "fc.weight"},
      {"efficientnet", "conv_stem.weight", "features.0.0.weight"},
      {"efficientnet", "bn1.running_mean", "features.0.1.running_mean"},
      {"efficientnet", "blocks.0.1.conv_dw.weight", "features.1.1.block.0.0.weight"},
      {"efficientnet", "blocks.0.1.bn1.weight", "features.1.1.block.0.1.weight"},
      {"efficientnet", "blocks.0.1.se.conv_reduce.bias", "features.1.1.block.1.fc1.bias"},
      {"efficientnet", "blocks.0.1.conv_pw.weight", "features.1.1.block.2.0.weight"},
      {"efficientnet", "blocks.0.1.bn2.weight", "features.1.1.block.2.1.weight"},
      {"efficientnet", "blocks.6.2.conv_pw.weight", "features.7.2.block.0.0.weight"},
      {"efficientnet", "blocks.6.2.bn1.weight", "features.7.2.block.0.1.weight"},
      {"efficientnet", "blocks.6.2.conv_dw.weight", "features.7.2.block.1.0.weight"},
      {"efficientnet", "blocks.6.2.bn2.bias", "features.7.2.block.1.1.bias"},
      {"efficientnet", "blocks.6.2.se.conv_expand.weight", "features.7.2.block.2.fc2.weight"},
      {"efficientnet", "blocks.6.2.conv_pwl.weight", "features.7.2.block.3.0.weight"},
      {"efficientnet", "blocks.6.2.bn3.bias", "features.7.2.block.3.1.bias"},
      {"efficientnet", "conv_head.weight", "features.8.0.weight"},
      {"efficientnet", "bn2.weight", "features.8.1.weight"},
      {"efficientnet", "classifier.weight", "classifier.1.weight"},
  };
  for (const auto& [family, timm, expected] : kCases) {
    EXPECT_EQ(ours(family, "timm", timm), expected) << family;
  }
}

// Files before torchvision 0.14 call the two layers of an MLP otherwise.
TEST(PublishedNames, OfOlderVisionTransformers) {
  const std::string layer = "encoder.layers.encoder_layer_11.mlp.";
  EXPECT_EQ(ours("deit", "torchvision", layer + "0.weight"), "blocks.11.mlp.fc1.weight");
  EXPECT_EQ(ours("deit", "torchvision", layer + "3.bias"), "blocks.11.mlp.fc2.bias");
  EXPECT_EQ(ours("deit", "torchvision", layer + "linear_1.weight"), "blocks.11.mlp.fc1.weight");
  EXPECT_EQ(ours("deit", "torchvision", layer + "linear_2.bias"), "blocks.11.mlp.fc2.bias");
}

TEST(PublishedNames, TablesNameModelsOfTheirFamilies) {
  for (const Family& family : model_families()) {
    for (const PublishedRecipe& row : family.recipes) {
      EXPECT_EQ(find_model(row.model).family, family.name) << row.model;
      EXPECT_LE(row.recipe.crop, row.recipe.resize) << row.model;
    }
    for (const PublishedFields& row : family.published_fields) {
      ModelSpec spec = find_model(family.base);
      override_fields(spec, row.fields);  // throws for a field that there is not
    }
  }
}

// What our own networks have is nobody else's.
TEST(PublishedNames, NoModelOfOursIsOneThatIsNotBuilt) {
  for (const ModelSpec& spec : model_zoo()) {
    if (spec.config->fixed_size() || spec.config->task() != ModelTask::kClassify) continue;
    const Graph graph = build_graph(spec, 224, 224);
    const std::string known = known_but_not_built([&](const std::string& name) {
      const auto found = std::ranges::find(graph.params, name, &ParamSpec::name);
      return found == graph.params.end() ? nullptr : &found->shape;
    });
    EXPECT_EQ(known, "") << spec.name;
  }
}

}  // namespace
}  // namespace vig::test
