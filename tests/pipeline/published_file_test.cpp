// Published checkpoints: tensors under others' names, and how their images are prepared.
#include "vig/pipeline/published_file.h"

#include <gtest/gtest.h>

#include <regex>

#include "pipeline/fixtures.h"
#include "support/files.h"
#include "vig/pipeline/model_source.h"
#include "vig/pipeline/save_model.h"

namespace vig::test {
namespace {

using Renames = std::vector<std::pair<std::string, std::string>>;

// Ours to timm's, as regular expressions: the other direction of the tables.
const Renames kTimmConvNeXt = {{R"(^downsample_layers\.0\.(\d))", "stem.$1"},
                               {R"(^downsample_layers\.(\d)\.)", "stages.$1.downsample."},
                               {R"(^stages\.(\d)\.(\d+)\.)", "stages.$1.blocks.$2."},
                               {R"(\.dwconv\.)", ".conv_dw."},
                               {R"(\.pwconv(\d)\.)", ".mlp.fc$1."},
                               {R"(^norm\.)", "head.norm."},
                               {R"(^head\.(weight|bias))", "head.fc.$1"}};

// Zeros with the parameters of `spec` under the names that the expressions make.
void write_renamed(const ModelSpec& spec, const Renames& renames, const std::string& path,
                   bool convolutions = false, const Metadata& metadata = {}) {
  const Graph graph = build_graph(spec, 224, 224);
  int64_t most = 1;
  for (const ParamSpec& param : graph.params) most = std::max(most, param.shape.elements());
  const std::vector<uint16_t> zeros(static_cast<size_t>(most));
  std::vector<NamedTensor> tensors;
  for (const ParamSpec& param : graph.params) {
    std::string name = param.name;
    for (const auto& [from, to] : renames) name = std::regex_replace(name, std::regex(from), to);
    Shape shape = param.shape;
    if (convolutions && name.find(".mlp.fc") != std::string::npos && shape.rank() == 2) {
      shape = {shape[0], shape[1], 1, 1};
    }
    tensors.push_back({name, {zeros.data(), DType::kF16, shape}});
  }
  write_safetensors(path, tensors, metadata);
}

ModelSource open(const std::string& path, const std::string& arch = "") {
  ModelRequest request;
  request.model = path;
  request.arch = arch;
  return find_source(request);
}

class PublishedFile : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  const TempDir folder_;
};

TEST_F(PublishedFile, TimmsNamesBecomeOurs) {
  write_renamed(find_model("convnext_t"), kTimmConvNeXt, file("a.safetensors"));
  const ModelSource source = open(file("a.safetensors"));
  EXPECT_EQ(source.spec.name, "convnext_t");
  EXPECT_EQ(changed_fields(source.spec), (std::map<std::string, std::string>{}));
  EXPECT_NE(source.checkpoint->find("stages.0.0.dwconv.weight"), nullptr);
  save_model(source, file("b.safetensors"));
  const ModelSource again = open(file("b.safetensors"));
  EXPECT_EQ(again.known, ModelSource::Known::kByMetadata);
  EXPECT_EQ(source_weights(again)->size(), source.graph->params.size());
  EXPECT_EQ(again.spec.recipe, source.spec.recipe);
}

// Its small networks store linear layers as 1 x 1 convolutions.
TEST_F(PublishedFile, ConvolutionsOfOnePixelAreLinear) {
  write_renamed(find_model("convnext_atto"), kTimmConvNeXt, file("a.safetensors"), true);
  const ModelSource source = open(file("a.safetensors"));
  EXPECT_EQ(source.spec.name, "convnext_atto");
  EXPECT_EQ(source.checkpoint->find("stages.0.0.pwconv1.weight")->view.shape, (Shape{160, 40}));
  source_weights(source);
}

// Earlier versions kept timm's names and said so in a field.
TEST_F(PublishedFile, FilesOfEarlierVersionsStillOpen) {
  write_renamed(find_model("convnext_t"), kTimmConvNeXt, file("a.safetensors"), false,
                {{"vig.arch", "convnext_t"}, {"vig.overrides", R"({"names":"timm"})"}});
  const ModelSource source = open(file("a.safetensors"));
  EXPECT_EQ(source.known, ModelSource::Known::kByMetadata);
  source_weights(source);
  write_renamed(find_model("convnext_t"), {}, file("b.safetensors"), false,
                {{"vig.arch", "convnext_t"}, {"vig.overrides", R"({"names":"official"})"}});
  source_weights(open(file("b.safetensors")));
}

TEST_F(PublishedFile, RecipesFollowTheNamesOfFiles) {
  const struct {
    const char *model, *file;
    Recipe recipe;
  } kCases[] = {
      {"resnet50", "resnet50.pth", bilinear_crop(256, 224)},
      {"resnet50", "resnet50-0676ba61.pth", bilinear_crop(256, 224)},
      {"resnet50", "resnet50-11ad3fa6.pth", bilinear_crop(232, 224)},
      {"regnety_16g", "regnet_y_16gf_swag-43afe44d.pth", bicubic_crop(384, 384)},
      {"efficientnet_b1", "efficientnet_b1-c27df63c.pth", bilinear_crop(255, 240)},
      {"deit_s", "deit_small_patch16_224.pth", bicubic_crop(256, 224)},
      {"deit_s", "vit_small_patch16_224.pth", symmetric_crop(248, 224)},
  };
  for (const auto& [model, name, recipe] : kCases) {
    ModelSpec spec = find_model(model);
    const std::string path = "folder/" + std::string(name);
    adopt_publication(spec, nullptr, origin_of_name(path));
    EXPECT_EQ(spec.recipe, recipe) << name;
  }
}

// Rows for some names are no defaults of the others.
TEST_F(PublishedFile, RecipesOfOtherNamesAreNoDefaults) {
  const PublishedNames& timm = find_family("efficientnet").names.at(0);
  ModelSpec spec = find_model("efficientnet_b3");
  adopt_publication(spec, &timm, origin_of_name("b3.pth"));
  EXPECT_EQ(spec.recipe, bicubic_crop(329, 288));
  adopt_publication(spec, &timm, origin_of_name("tf_efficientnet_b3_ap-aad25bdd.pth"));
  EXPECT_EQ(spec.recipe, symmetric_crop(331, 300));
}

// A table of positions for other images asks for these.
TEST_F(PublishedFile, RecipesFollowTheSizeOfTables) {
  const PublishedNames& torchvision = find_family("deit").names.at(0);
  ModelSpec spec = find_model("deit_b");
  override_field(spec, "image_size", "384");
  EXPECT_EQ(adopt_publication(spec, &torchvision, {}), "torchvision");
  EXPECT_EQ(spec.recipe, bicubic_crop(384, 384));
  spec = find_model("deit_b");
  override_field(spec, "image_size", "448");
  adopt_publication(spec, &torchvision, {});
  EXPECT_EQ(spec.recipe, bilinear_crop(512, 448));
}

// Weights made in TensorFlow pad and normalise otherwise, which no tensor shows.
TEST_F(PublishedFile, FieldsFollowThePublisher) {
  const PublishedNames& timm = find_family("efficientnet").names.at(0);
  const auto fields = [&](const PublishedNames* names, const char* name) {
    ModelSpec spec = find_model("efficientnet_b5");
    adopt_publication(spec, names, origin_of_name(name));
    return model_fields(spec).at("bn_eps") + " " + model_fields(spec).at("padding");
  };
  EXPECT_EQ(fields(nullptr, "efficientnet_b5_lukemelas-b6417697.pth"), "0.001 symmetric");
  EXPECT_EQ(fields(&timm, "efficientnet_b5.pth"), "1e-05 symmetric");
  EXPECT_EQ(fields(&timm, "tf_efficientnet_b5_ns-6f26d0cf.pth"), "0.001 same");
}

constexpr const char* kConfig = R"({
  "architecture": "ARCHITECTURE",
  "num_classes": 1000,
  "pretrained_cfg": {
    "tag": "a1_in1k", "custom_load": false, "input_size": [3, 224, 224],
    "test_input_size": [3, 288, 288], "fixed_input_size": false, "interpolation": "bicubic",
    "crop_pct": 0.95, "crop_mode": "center", "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4],
    "num_classes": 1000, "pool_size": [7, 7], "first_conv": "conv1", "classifier": "fc"
  }
})";

std::string config(const std::string& from, const std::string& to) {
  return std::regex_replace(std::regex_replace(kConfig, std::regex(from), to),
                            std::regex("ARCHITECTURE"), "resnet18");
}

TEST_F(PublishedFile, TimmsDescriptionGivesTheRecipe) {
  write_bare(find_model("resnet18"), file("model.safetensors"));
  write_bare(find_model("resnet18"), file("other.safetensors"));
  write_file(folder_ / "config.json", config("no", "change"));
  const ModelSource source = open(file("model.safetensors"));
  Recipe expected = bicubic_crop(235, 224);
  expected.mean = {0.5f, 0.4f, 0.3f};
  expected.std = {0.2f, 0.3f, 0.4f};
  EXPECT_EQ(source.spec.recipe, expected);
  EXPECT_EQ(source.recipe_of, "config.json");
  // It describes one file, and belongs to it by its name.
  EXPECT_EQ(open(file("other.safetensors")).spec.recipe, bilinear_crop(256, 224));
}

TEST_F(PublishedFile, DescriptionsOfOthersAreLeftAlone) {
  write_bare(find_model("resnet18"), file("model.safetensors"));
  write_file(folder_ / "config.json", R"({"architectures": ["ResNetForImageClassification"]})");
  EXPECT_EQ(open(file("model.safetensors")).spec.recipe, bilinear_crop(256, 224));
}

TEST_F(PublishedFile, BadDescriptionsAreRefused) {
  write_bare(find_model("resnet18"), file("model.safetensors"));
  const std::pair<std::pair<const char*, const char*>, const char*> kCases[] = {
      {{"ARCHITECTURE", "resnetaa50"}, "timm's resnetaa50: not built"},
      {{"0.95", "0"}, "crop_pct"},
      {{"0.95", "\"x\""}, "config.json"},
      {{"224, 224", "224, 256"}, "input_size"},
      {{"224, 224", "1e9, 1e9"}, "input_size"},
      {{"bicubic", "lanczos"}, "interpolation"},
      {{"0.5, 0.4, 0.3", "0.5, 0.4"}, "mean"},
      {{"0.2, 0.3, 0.4", "0, 1, 1"}, "std"},
      {{"\"mean\"", "\"meant\""}, "config.json"},
  };
  for (const auto& [change, complaint] : kCases) {
    write_file(folder_ / "config.json", config(change.first, change.second));
    ErrorCode code = ErrorCode::kUsage;
    const std::string error = error_of([&] { open(file("model.safetensors")); }, &code);
    EXPECT_EQ(code, ErrorCode::kInput) << error;
    EXPECT_TRUE(error.starts_with(file("model.safetensors"))) << error;
    EXPECT_NE(error.find(complaint), std::string::npos) << error;
  }
}

TEST_F(PublishedFile, WhatIsNotBuiltIsNamed) {
  const float one = 1;
  const auto complaint = [&](const std::vector<std::string>& names) {
    std::vector<NamedTensor> tensors;
    for (const std::string& name : names) tensors.push_back({name, {&one, DType::kF32, Shape{1}}});
    write_safetensors(file("x.safetensors"), tensors);
    return error_of([&] { open(file("x.safetensors")); });
  };
  EXPECT_EQ(complaint({"features.0.0.weight", "features.1.0.attn.logit_scale"}),
            file("x.safetensors") + ": torchvision's swin_v2_t: not built");
  EXPECT_EQ(complaint({"stem.0.weight", "stages.0.blocks.0.mlp.grn.weight"}),
            file("x.safetensors") + ": timm's convnextv2: not built");
  EXPECT_NE(complaint({"weight"}).find("no published model's"), std::string::npos);
}

}  // namespace
}  // namespace vig::test
