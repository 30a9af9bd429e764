// DeiT, Swin and gMLP: images of other sizes, other names, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "support/errors.h"
#include "vig/models/family.h"

namespace vig::test {
namespace {

ModelSpec with(const std::string& model, const std::map<std::string, std::string>& fields) {
  ModelSpec spec = find_model(model);
  override_fields(spec, fields);
  return spec;
}

Graph build(const std::string& model, int size = 224) {
  return build_graph(find_model(model), size, size);
}

Grid features(const ModelSpec& spec, int height, int width) {
  const Graph graph = build_graph(spec, height, width);
  return graph.node(graph.find_output("features")).grid;
}

double giga(int64_t count) { return std::round(static_cast<double>(count) / 1e6) / 1e3; }

TEST(AttentionFamilies, AttentionGrowsWithTheSquareOfTheTokens) {
  for (const auto& [size, macs] : {std::pair(384, 4.682), {512, 10.434}, {1024, 99.700}}) {
    EXPECT_DOUBLE_EQ(giga(count_macs(build("deit_t", size)).dense), macs) << size;
  }
}

TEST(AttentionFamilies, ImagesOfOtherSizes) {
  EXPECT_EQ(features(find_model("deit_t"), 100, 333), (Grid{6, 20, 192}));
  EXPECT_EQ(features(find_model("deit_t"), 16, 16), (Grid{1, 1, 192}));
  EXPECT_EQ(features(find_model("swin_t"), 224, 224), (Grid{7, 7, 768}));
  EXPECT_EQ(features(find_model("swin_t"), 100, 333), (Grid{4, 11, 768}));
  EXPECT_EQ(features(find_model("swin_t"), 4, 4), (Grid{1, 1, 768}));
  expect_error(ErrorCode::kInput, {"[conv]", "15 x 16", "kernel 16", "patch_embed.proj"},
               [] { features(find_model("deit_t"), 15, 16); });
}

TEST(AttentionFamilies, DeitsTableMayBeOblong) {
  for (const auto& [width, rows] : {std::pair("0", 1 + 9), {"80", 1 + 15}}) {
    const ModelSpec spec = with("test_deit", {{"image_size", "48"}, {"image_width", width}});
    const Graph graph = build_graph(spec, 64, 64);
    for (const ParamSpec& param : graph.params) {
      if (param.name == "pos_embed") {
        EXPECT_EQ(param.shape, (Shape{1, rows, 48})) << width;
      }
    }
  }
}

// The windows belong to the size of the weights, not to the image.
TEST(AttentionFamilies, SwinsWindowsAreNeverLargerThanTheGridOfTheWeights) {
  const auto windows = [](const ModelSpec& spec, int height, int width) {
    std::vector<std::pair<int, int>> found;
    for (const Node& node : build_graph(spec, height, width).nodes) {
      const auto* op = std::get_if<WindowAttentionOp>(&node.op);
      if (op != nullptr) found.emplace_back(op->window_height, op->window_width);
    }
    return found;
  };
  const ModelSpec spec = with("swin_t", {{"image_size", "128"}, {"depths", "1,2,1,1"}});
  const std::vector<std::pair<int, int>> expected = {{7, 7}, {7, 7}, {7, 7}, {7, 7}, {4, 4}};
  EXPECT_EQ(windows(spec, 128, 128), expected);
  EXPECT_EQ(windows(spec, 300, 40), expected);
}

TEST(AttentionFamilies, GmlpRefusesOtherSizes) {
  EXPECT_EQ(features(find_model("gmlp_t"), 224, 224), (Grid{14, 14, 128}));
  for (const auto& [height, width] : {std::pair(224, 240), {112, 448}, {448, 448}}) {
    expect_error(ErrorCode::kUsage,
                 {"[gmlp]", std::to_string(height) + " x " + std::to_string(width), "224 x 224"},
                 [&, h = height, w = width] { features(find_model("gmlp_t"), h, w); });
  }
  const ModelSpec oblong = with("test_gmlp", {{"image_width", "96"}});
  EXPECT_EQ(features(oblong, 64, 96), (Grid{4, 6, 32}));
  expect_error(ErrorCode::kUsage, {"64 x 64", "64 x 96"}, [&] { features(oblong, 64, 64); });
}

TEST(AttentionFamilies, BadFieldsAreNamed) {
  struct Case {
    const char* model;
    std::map<std::string, std::string> fields;
    std::string first, second;
  };
  const Case cases[] = {
      {"deit_t", {{"heads", "5"}}, "[vit] embed_dim is 192", "heads=5"},
      {"deit_t", {{"image_width", "9"}}, "[vit] image_size 224 x 9", "patch_size 16"},
      {"deit_t", {{"mlp_ratio", "1000000"}, {"embed_dim", "768"}}, "blocks.0.mlp", "mlp_ratio"},
      {"swin_t", {{"depths", "1,1"}}, "[swin] 2 depths", "4 heads"},
      {"swin_t", {{"heads", "3,6,12,25"}}, "[swin] stage 3 has 768", "25 heads"},
      {"swin_t", {{"patch_size", "300"}}, "[swin] image_size 224", "patch_size 300"},
      {"gmlp_t", {{"mlp_ratio", "3"}, {"embed_dim", "25"}}, "[gmlp] mlp_ratio 3", "halves"},
  };
  for (const Case& c : cases) {
    expect_error(ErrorCode::kUsage, {c.first, c.second},
                 [&] { build_graph(with(c.model, c.fields), 224, 224); });
  }
  expect_error(ErrorCode::kUsage, {"attention", "'flash'", "tiled, materialised or eager"}, [] {
    with("deit_t", {{"attention", "flash"}});
  });
  expect_error(ErrorCode::kUsage, {"image_width", "'-1'", "from 0"}, [] {
    with("deit_t", {{"image_width", "-1"}});
  });
}

}  // namespace
}  // namespace vig::test
