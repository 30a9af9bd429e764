// What the tensors of a checkpoint say about the network that it belongs to, for any writer.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "vig/models/family.h"

namespace vig::test {
namespace {

using Fields = std::map<std::string, std::string>;
using Tensors = std::map<std::string, Shape>;

Fields shown(const std::string& model, const Tensors& tensors) {
  return find_model(model).config->fields_shown_by([&](const std::string& name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : &found->second;
  });
}

TEST(ShownFields, SizesOfSquareGrids) {
  EXPECT_EQ(image_size_shown_by(196, 16), (Fields{{"image_size", "224"}}));
  EXPECT_EQ(image_size_shown_by(1, 16), (Fields{{"image_size", "16"}}));
  EXPECT_EQ(image_size_shown_by(196, 16, 8), (Fields{{"image_size", "120"}}));
  for (const int64_t none : {int64_t{0}, int64_t{-4}, int64_t{195}, int64_t{197}}) {
    EXPECT_EQ(image_size_shown_by(none, 16), Fields{}) << none;
  }
  // Beyond any grid, the largest square included.
  EXPECT_EQ(image_size_shown_by(int64_t{1} << 32, 1), (Fields{{"image_size", "65536"}}));
  EXPECT_EQ(image_size_shown_by((int64_t{65537} * 65537), 1), Fields{});
}

// A hostile file may give any tensor any number of axes.
TEST(ShownFields, TensorsOfOtherAxesShowNothing) {
  const std::set<std::string> always = {"rotary",      "class_token", "dwconv_layers",
                                        "layer_scale", "stem",        "downsample"};
  for (const ModelSpec& spec : model_zoo()) {
    for (const Shape& shape : {Shape{}, Shape{1, 1, 1, 1, 1}}) {
      const Fields fields =
          spec.config->fields_shown_by([&](const std::string&) { return &shape; });
      for (const auto& [field, value] : fields) {
        EXPECT_TRUE(always.contains(field)) << spec.name << ", " << field << "=" << value;
      }
    }
  }
}

TEST(ShownFields, OfPositionTables) {
  EXPECT_EQ(shown("deit_t", {{"pos_embed", {1, 577, 192}}}), (Fields{{"image_size", "384"}}));
  EXPECT_EQ(shown("deit_t", {{"pos_embed", {1, 576, 192}}}), Fields{});
  EXPECT_EQ(shown("vig_t", {{"pos_embed", {1, 576, 192}}}), (Fields{{"image_size", "384"}}));
  EXPECT_EQ(shown("gmlp_t", {{"blocks.0.mlp_channels.gate.proj.weight", {576, 576}}}),
            (Fields{{"image_size", "384"}}));
  // Of LocalVim the token has a row of the table where there is one.
  EXPECT_EQ(shown("localvim_t", {{"pos_embed", {1, 576, 192}}, {"rope.freqs_cos", {576, 192}}}),
            (Fields{{"image_size", "384"}, {"rotary", "true"}, {"class_token", "false"}}));
  EXPECT_EQ(shown("localvim_t", {{"pos_embed", {1, 577, 192}}, {"cls_token", {1, 1, 192}}}),
            (Fields{{"image_size", "384"}, {"rotary", "false"}, {"class_token", "true"}}));
}

TEST(ShownFields, OfWindows) {
  const std::string table = "layers.0.blocks.0.attn.relative_position_bias_table";
  EXPECT_EQ(shown("swin_t", {{table, {169, 3}}}),
            (Fields{{"window_size", "7"}, {"image_size", "224"}}));
  EXPECT_EQ(shown("swin_t", {{table, {127 * 127, 3}}, {"head.weight", {5, 768}}}),
            (Fields{{"classes", "5"}, {"window_size", "64"}, {"image_size", "2048"}}));
  EXPECT_EQ(shown("swin_t", {{table, {170, 3}}}), Fields{});
}

// From the first layer on without a gap, and never more than the network has.
TEST(ShownFields, OfLayersThatEndInAConvolution) {
  Tensors tensors;
  const auto layers = [&] { return shown("plainmamba_l1", tensors).at("dwconv_layers"); };
  const auto add = [&](int layer) {
    tensors["backbone.layers." + std::to_string(layer) + ".dw.0.weight"] = {192, 1, 3, 3};
  };
  EXPECT_EQ(layers(), "0");
  add(1);
  EXPECT_EQ(layers(), "0");
  add(0);
  EXPECT_EQ(layers(), "2");
  for (int layer = 2; layer < 30; ++layer) add(layer);
  EXPECT_EQ(layers(), "24");
}

}  // namespace
}  // namespace vig::test
