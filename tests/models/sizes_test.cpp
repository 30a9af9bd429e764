// Any image that leaves a token makes a graph; smaller ones are refused.
#include <gtest/gtest.h>

#include "support/errors.h"
#include "vig/models/family.h"

namespace vig::test {
namespace {

Grid features(const std::string& model, int height, int width) {
  const Graph graph = build_graph(find_model(model), height, width);
  return graph.node(graph.find_output("features")).grid;
}

// The released stem on an image of n pixels a side: kernel 9, stride 8, padding 1, then kernel 3,
// stride 2, padding 1.
int plain_side(int n) {
  const int first = (n + 2 - 9) / 8 + 1;
  return (first + 2 - 3) / 2 + 1;
}

int hierarchical_side(int n) {
  for (int i = 0; i < 5; ++i) n = (n + 2 - 3) / 2 + 1;  // two in the stem, three between stages
  return n;
}

TEST(Sizes, OddAndOblongImages) {
  const std::pair<int, int> sizes[] = {{224, 224}, {7, 7},    {8, 15},    {17, 16},  {31, 33},
                                       {97, 223},  {225, 64}, {1000, 10}, {513, 768}};
  for (const auto& [height, width] : sizes) {
    const std::string size = std::to_string(height) + " x " + std::to_string(width);
    EXPECT_EQ(features("vig_t", height, width), (Grid{plain_side(height), plain_side(width), 192}))
        << size;
    EXPECT_EQ(features("vig_h_t", height, width),
              (Grid{hierarchical_side(height), hierarchical_side(width), 768}))
        << size;
    if (height < 16 || width < 16) continue;
    EXPECT_EQ(features("gla_t", height, width), (Grid{height / 16, width / 16, 192})) << size;
  }
}

TEST(Sizes, TheSmallestImageIsOneToken) {
  EXPECT_EQ(features("vig_t", 7, 7), (Grid{1, 1, 192}));
  EXPECT_EQ(features("gla_t", 16, 16), (Grid{1, 1, 192}));
  EXPECT_EQ(features("vig_h_t", 1, 1), (Grid{1, 1, 768}));
  EXPECT_EQ(features("vig_t", 7, 224), (Grid{1, 14, 192}));
}

TEST(Sizes, TooSmallIsAnErrorThatNamesTheLayer) {
  expect_error(ErrorCode::kInput, {"[conv]", "6 x 224", "kernel 9", "patch_embed.proj.0"},
               [] { features("vig_t", 6, 224); });
  expect_error(ErrorCode::kInput, {"[conv]", "224 x 15", "kernel 16", "patch_embed.proj"},
               [] { features("gla_t", 224, 15); });
  for (const char* model : {"vig_t", "vig_h_t", "gla_t"}) {
    expect_error(ErrorCode::kInput, {"[input]", "0 x 5"}, [&] { features(model, 0, 5); });
    expect_error(ErrorCode::kInput, {"[input]", "5 x -3"}, [&] { features(model, 5, -3); });
  }
}

// The position table belongs to the image size of the weights, not to the image.
TEST(Sizes, ThePositionTableStaysAsTrained) {
  for (int size : {64, 224, 1024}) {
    const Graph graph = build_graph(find_model("vig_t"), size, size);
    for (const Node& node : graph.nodes) {
      const auto* op = std::get_if<AddPositionOp>(&node.op);
      if (op == nullptr) continue;
      EXPECT_EQ(op->rows, 14);
      EXPECT_EQ(op->cols, 14);
    }
  }
}

// Without a table for a single token there is no position to learn.
TEST(Sizes, AnImageSizeWithoutATokenIsRefused) {
  for (const char* size : {"1", "6"}) {
    ModelSpec spec = find_model("vig_t");
    override_field(spec, "image_size", size);
    expect_error(ErrorCode::kUsage, {"image_size", size, "patch_size 16"},
                 [&] { build_graph(spec, 224, 224); });
  }
  ModelSpec spec = find_model("vig_t");
  override_field(spec, "image_size", "7");
  EXPECT_EQ(build_graph(spec, 224, 224).param_count(), 5834536 - 195 * 192);
}

}  // namespace
}  // namespace vig::test
