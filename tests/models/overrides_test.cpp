// Every field of every model can be changed by name; what cannot be is refused in one sentence.
#include <gtest/gtest.h>

#include "support/errors.h"
#include "vig/models/family.h"

namespace vig::test {
namespace {

ModelSpec with(const std::string& model, const std::map<std::string, std::string>& fields) {
  ModelSpec spec = find_model(model);
  override_fields(spec, fields);
  return spec;
}

// A value for each field that differs from all models' own.
const std::map<std::string, std::string> kPlain = {
    {"classes", "17"},
    {"image_size", "96"},
    {"patch_size", "8"},
    {"embed_dim", "40"},
    {"depth", "3"},
    {"heads", "4"},
    {"expand_k", "0.8"},
    {"expand_v", "2"},
    {"conv_stem", "false"},
    {"position", "false"},
    {"locality", "false"},
    {"silu_after_dwconv", "true"},
    {"silu_before_o_proj", "true"},
    {"layer_scale", "true"},
    {"mixing", "two_layer"},
    {"scan", "two_pass"},
    {"drop_path", "0.25"},
};
const std::map<std::string, std::string> kHierarchical = {
    {"classes", "17"},    {"image_size", "96"}, {"patch_size", "4"},  {"dims", "16,32"},
    {"depths", "1,2"},    {"heads", "2,4"},     {"expand_k", "0.25"}, {"expand_v", "1"},
    {"drop_path", "0.1"}, {"scan", "two_pass"},
};

TEST(Overrides, EveryFieldTakesAValueAndTellsIt) {
  for (const auto& [model, values] : {std::pair("vig_s", kPlain), {"vig_h_t", kHierarchical}}) {
    const auto before = model_fields(find_model(model));
    EXPECT_EQ(before.size(), values.size()) << "a field of " << model << " is not tested here";
    for (const auto& [field, value] : values) {
      auto expected = before;
      ASSERT_TRUE(expected.contains(field)) << model << ", " << field;
      expected[field] = value;
      EXPECT_EQ(model_fields(with(model, {{field, value}})), expected) << model << ", " << field;
    }
    EXPECT_EQ(model_fields(with(model, values)), values);
  }
}

TEST(Overrides, FieldsAsToldMakeTheSameModel) {
  for (const ModelSpec& spec : model_zoo()) {
    ModelSpec again = find_model(find_family(spec.family).base);
    override_fields(again, model_fields(spec));
    const bool fixed = spec.config->fixed_size();
    const int height = fixed ? spec.recipe.crop : 64, width = fixed ? spec.recipe.crop : 96;
    const Graph expected = build_graph(spec, height, width);
    const Graph graph = build_graph(again, height, width);
    ASSERT_EQ(graph.params.size(), expected.params.size()) << spec.name;
    for (size_t i = 0; i < graph.params.size(); ++i) {
      EXPECT_EQ(graph.params[i].name, expected.params[i].name);
      EXPECT_EQ(graph.params[i].shape, expected.params[i].shape);
    }
    EXPECT_EQ(graph.nodes.size(), expected.nodes.size()) << spec.name;
    if (spec.recipe.framing != Framing::kCrop) continue;
    again.recipe.resize = spec.recipe.resize;  // the share that is cut out is the weights'
    again.recipe.mean = spec.recipe.mean;      // and so are these
    again.recipe.std = spec.recipe.std;
    EXPECT_EQ(again.recipe, spec.recipe) << spec.name;
  }
}

const ParamSpec* find_param(const Graph& graph, const std::string& name) {
  for (const ParamSpec& param : graph.params) {
    if (param.name == name) return &param;
  }
  return nullptr;
}

TEST(Overrides, ChangeWhatTheyNameInThePlainModel) {
  const auto graph = [](const std::map<std::string, std::string>& fields) {
    return build_graph(with("vig_s", fields), 64, 64);
  };
  const auto shape = [&](const std::map<std::string, std::string>& fields, const char* name) {
    const Graph built = graph(fields);
    const ParamSpec* param = find_param(built, name);
    return param == nullptr ? Shape{-1} : param->shape;
  };
  EXPECT_EQ(shape({{"classes", "17"}}, "head.weight"), (Shape{17, 384}));
  EXPECT_EQ(shape({{"image_size", "96"}}, "pos_embed"), (Shape{1, 36, 384}));
  EXPECT_EQ(shape({{"patch_size", "8"}}, "pos_embed"), (Shape{1, 784, 384}));
  EXPECT_EQ(shape({{"patch_size", "8"}}, "patch_embed.proj.0.weight"), (Shape{192, 3, 5, 5}));
  EXPECT_EQ(shape({{"embed_dim", "48"}}, "blocks.0.mlp.gate_proj.weight"), (Shape{512, 48}));
  EXPECT_EQ(shape({{"depth", "3"}}, "blocks.2.mlp_norm.weight"), (Shape{384}));
  EXPECT_EQ(shape({{"depth", "3"}}, "blocks.3.mlp_norm.weight"), (Shape{-1}));
  EXPECT_EQ(shape({{"heads", "4"}}, "blocks.0.attn.g_norm.weight"), (Shape{96}));
  EXPECT_EQ(shape({{"expand_k", "0.25"}}, "blocks.0.attn.qkv_proj.weight"), (Shape{576, 384}));
  EXPECT_EQ(shape({{"expand_v", "2"}, {"locality", "false"}}, "blocks.0.attn.o_proj.weight"),
            (Shape{384, 768}));
  EXPECT_EQ(shape({{"conv_stem", "false"}}, "patch_embed.proj.weight"), (Shape{384, 3, 16, 16}));
  EXPECT_EQ(shape({{"position", "false"}}, "pos_embed"), (Shape{-1}));
  EXPECT_EQ(shape({{"locality", "false"}}, "blocks.0.attn.l_norm.weight"), (Shape{-1}));
  EXPECT_EQ(shape({{"layer_scale", "true"}}, "blocks.0.gamma1"), (Shape{384}));
  EXPECT_EQ(shape({{"layer_scale", "true"}}, "blocks.11.gamma2"), (Shape{384}));
  EXPECT_EQ(shape({{"mixing", "shared"}}, "blocks.0.attn.gk_proj.1.weight"), (Shape{192, 16}));
  EXPECT_EQ(shape({{"mixing", "two_layer"}}, "blocks.0.attn.qkv_proj_b.weight"), (Shape{768, 384}));
  const size_t nodes = graph({}).nodes.size();
  EXPECT_EQ(graph({{"silu_after_dwconv", "true"}}).nodes.size(), nodes + 12);
  EXPECT_EQ(graph({{"silu_before_o_proj", "true"}}).nodes.size(), nodes + 12);
  EXPECT_EQ(graph({{"drop_path", "0.3"}}).nodes.size(), nodes) << "training only";
}

TEST(Overrides, ChangeWhatTheyNameInTheHierarchicalModel) {
  const Graph graph = build_graph(with("vig_h_t", kHierarchical), 64, 64);
  EXPECT_NE(find_param(graph, "layers.1.blocks.1.op.qkv_proj.weight"), nullptr);
  EXPECT_EQ(find_param(graph, "layers.1.downsample.1.weight"), nullptr);
  EXPECT_EQ(find_param(graph, "layers.0.downsample.1.weight")->shape, (Shape{32, 16, 3, 3}));
  EXPECT_EQ(find_param(graph, "classifier.head.weight")->shape, (Shape{17, 32}));
}

TEST(Overrides, TheRecipeFollowsTheImageSize) {
  const ModelSpec spec = with("vig_t", {{"image_size", "384"}});
  EXPECT_EQ(spec.recipe.crop, 384);
  EXPECT_EQ(spec.recipe.resize, 439);  // in the ratio 256 : 224
  EXPECT_EQ(with("vig_t", {{"classes", "2"}}).recipe, Recipe{});
}

TEST(Overrides, UnknownNamesAreListed) {
  expect_error(ErrorCode::kUsage, {"vig_x", "vig_t", "vig_h_b", "test_vig"},
               [] { find_model("vig_x"); });
  expect_error(ErrorCode::kUsage, {"perceptron", "vig", "vig_h"},
               [] { find_family("perceptron"); });
  expect_error(ErrorCode::kUsage, {"vig_t", "widths", "embed_dim", "mixing"}, [] {
    with("vig_t", {{"widths", "3"}});
  });
  expect_error(ErrorCode::kUsage, {"vig_h_t", "embed_dim", "dims", "depths"}, [] {
    with("vig_h_t", {{"embed_dim", "32"}});
  });
}

TEST(Overrides, StagesThatDisagreeAreNamedWithTheirFields) {
  expect_error(ErrorCode::kUsage,
               {"dims=96,192,384,768 are 4", "depths=2,2 are 2", "heads=3,6,12,24 are 4", "--set"},
               [] {
                 build_graph(with("vig_h_t", {{"depths", "2,2"}}), 64, 64);
               });
  expect_error(ErrorCode::kUsage, {"dims=16 are 1 stages", "depths=2,2,5,2 are 4"}, [] {
    build_graph(with("vig_h_t", {{"dims", "16"}}), 64, 64);
  });
}

TEST(Overrides, BadValuesAreUsageErrors) {
  const std::pair<const char*, const char*> plain[] = {
      {"depth", ""},         {"depth", "0"},
      {"depth", "-1"},       {"depth", "two"},
      {"depth", "2.5"},      {"depth", "3 "},
      {"depth", "99999999"}, {"depth", "9e9"},
      {"classes", "0x10"},   {"classes", "99999999999999999999"},
      {"expand_k", ""},      {"expand_k", "-0.5"},
      {"expand_k", "nan"},   {"expand_k", "inf"},
      {"expand_k", "0.5f"},  {"expand_v", "65"},
      {"locality", "yes"},   {"locality", "1"},
      {"locality", "TRUE"},  {"position", ""},
      {"mixing", "both"},    {"mixing", ""},
      {"drop_path", "a"},    {"heads", "3,6"},
  };
  for (const auto& [field, value] : plain) {
    expect_error(ErrorCode::kUsage, {field, std::string("'") + value + "'", "expected"},
                 [&, f = field, v = value] {
                   with("vig_t", {{f, v}});
                 });
  }
  for (const char* value : {"", ",", "1,", ",1", "1,,2", "16;32", "16,x"}) {
    expect_error(ErrorCode::kUsage, {"dims", "expected"}, [&] {
      with("vig_h_t", {{"dims", value}});
    });
  }
}

TEST(Overrides, InconsistentFieldsAreUsageErrors) {
  const auto refused = [](const char* model, const std::map<std::string, std::string>& fields,
                          std::initializer_list<std::string> words) {
    expect_error(ErrorCode::kUsage, words, [&] { build_graph(with(model, fields), 224, 224); });
  };
  refused("vig_t", {{"heads", "5"}}, {"blocks.0.attn", "5 heads", "96", "192"});
  refused("vig_t", {{"embed_dim", "33"}}, {"33", "even"});
  refused("vig_t", {{"embed_dim", "1"}}, {"embed_dim is 1"});
  refused("vig_t", {{"patch_size", "6"}}, {"patch_size is 6", "multiple of 4"});
  refused("vig_t", {{"patch_size", "1"}}, {"patch_size is 1"});
  refused("vig_t", {{"expand_v", "2"}}, {"384", "192", "locality"});
  refused("vig_t", {{"expand_k", "0"}}, {"key width 0"});
  refused("vig_h_t", {{"dims", "16,32"}},
          {"dims=16,32 are 2", "depths=2,2,5,2 are 4", "heads=3,6,12,24 are 4"});
  refused("vig_h_t", {{"heads", "3,6,12,25"}}, {"layers.3.blocks.0.op", "25 heads"});
  refused("vig_h_t", {{"patch_size", "8"}}, {"patch_size is 8", "expected 4"});
}

// The work of a head is bounded for any file.
TEST(Overrides, HeadsOfDetectorsAreBounded) {
  const std::pair<const char*, int> most[] = {
      {"mask_convs", 64}, {"roi_side", 256}, {"mask_side", 256}};
  for (const auto& [field, limit] : most) {
    SCOPED_TRACE(field);
    const ModelSpec good = with("test_vig_maskrcnn", {{field, std::to_string(limit)}});
    EXPECT_NO_THROW(build_graphs(good, 64, 64));
    const ModelSpec bad = with("test_vig_maskrcnn", {{field, std::to_string(limit + 1)}});
    expect_error(ErrorCode::kUsage, {"[mask_rcnn]", field, "at most 64, 256 and 256"},
                 [&] { build_graphs(bad, 64, 64); });
  }
}

}  // namespace
}  // namespace vig::test
