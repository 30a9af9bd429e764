// Hyperparameters that a weight file or --set may ask for and no network can have: each is
// refused in one sentence, and what lies just inside a limit is built.
#include <gtest/gtest.h>

#include <map>

#include "support/errors.h"
#include "vig/models/family.h"

namespace vig::test {
namespace {

using Fields = std::map<std::string, std::string>;

std::vector<Graph> build(const std::string& model, const Fields& fields) {
  ModelSpec spec = find_model(model);
  override_fields(spec, fields);
  const GridSize size = described_size(spec);
  return build_graphs(spec, size.height, size.width);
}

struct Refused {
  const char* model;
  Fields fields;
  const char* words;
};

void expect_refused(std::initializer_list<Refused> cases) {
  for (const Refused& c : cases) {
    SCOPED_TRACE(c.words);
    expect_error(ErrorCode::kUsage, {c.words}, [&] { build(c.model, c.fields); });
  }
}

struct Accepted {
  const char* model;
  Fields fields;
};

void expect_accepted(std::initializer_list<Accepted> cases) {
  for (const Accepted& c : cases) {
    SCOPED_TRACE(std::string(c.model) + ", " + c.fields.begin()->first);
    EXPECT_NO_THROW(build(c.model, c.fields));
  }
}

TEST(Refusals, OfConvolutionalNetworks) {
  expect_refused({
      {"test_resnet", {{"layers", "1,1,1,1,1,1,1,1,1"}}, "[resnet] base_planes=8, expansion=4 and"},
      {"test_convnext", {{"depths", "1,1"}}, "[convnext] 4 dims and 2 depths"},
      {"test_convnext", {{"kernel", "4"}}, "[convnext] kernel=4"},
      {"test_regnet", {{"depths", "1,2"}}, "[regnet] 4 widths, 2 depths and 4 group_widths"},
      {"test_regnet", {{"group_widths", "8"}}, "[regnet] 4 widths, 4 depths and 1 group_widths"},
      {"test_regnet",
       {{"group_widths", "8,8,9,8"}},
       "[regnet] 48 channels do not split into groups of 9 (stage 2)"},
      {"test_efficientnet", {{"depths", "1"}}, "[efficientnet] 4 widths, 1 depths"},
      {"test_efficientnet", {{"expand_ratios", "1,4,4"}}, "4 depths, 3 expand_ratios"},
      {"test_efficientnet", {{"kernels", "3,3"}}, "4 expand_ratios, 2 kernels"},
      {"test_efficientnet", {{"strides", "1,2,2"}}, "4 kernels and 3 strides"},
      {"test_efficientnet", {{"kernels", "3,4,5,3"}}, "[efficientnet] kernel 4"},
  });
  expect_accepted({{"test_resnet", {{"layers", "1,1,1,1,1,1,1,1"}}},
                   {"test_efficientnet", {{"kernels", "1,3,5,7"}}}});
}

TEST(Refusals, OfNetworksWithAttention) {
  expect_refused({
      {"test_deit", {{"image_size", "15"}, {"image_width", "64"}}, "[vit] image_size 15 x 64"},
      {"test_swin",
       {{"depths", "1,1,1,1,1,1,1,1,1"}, {"heads", "1,1,1,1,1,1,1,1,1"}},
       "[swin] 9 depths and 9 heads, expected the same number of stages, at most 8"},
      {"test_swin", {{"image_width", "3"}}, "[swin] image_size 64 (image_width 3)"},
      {"swin_t_upernet", {{"patch_size", "8"}}, "[swin] 4 stages and patch_size 8"},
      {"swin_t_upernet", {{"depths", "1,1,1"}, {"heads", "3,6,12"}}, "[swin] 3 stages and"},
  });
  expect_accepted({{"test_deit", {{"image_size", "64"}, {"image_width", "16"}}},
                   {"test_swin", {{"image_width", "4"}}},
                   {"test_swin", {{"depths", "1,1,1,1,1,1,1,1"}, {"heads", "1,1,1,1,1,1,1,1"}}},
                   // An even product has halves, whichever factor is even.
                   {"test_gmlp", {{"mlp_ratio", "3"}}},
                   {"test_gmlp", {{"embed_dim", "25"}}}});
}

TEST(Refusals, OfNetworksWithRecurrences) {
  expect_refused({
      {"test_vim", {{"patch_size", "65"}}, "[vim] image_size=64 and image_width=0"},
      {"test_vim", {{"image_width", "15"}}, "[vim] image_size=64 and image_width=15"},
      {"test_vrwkv", {{"patch_size", "65"}}, "[vrwkv] image_size 64 x 64"},
      {"test_vrwkv", {{"image_width", "15"}}, "[vrwkv] image_size 64 x 15"},
      {"test_vmamba", {{"depths", "1,1"}}, "[vmamba] 4 dims and 2 depths"},
      {"test_vmamba", {{"dims", "1,24,32,48"}}, "[vmamba] 4 dims and 4 depths"},
      {"test_vmamba", {{"d_conv", "2"}}, "[vmamba] d_state=1, d_conv=2"},
      {"test_vmamba", {{"ssm_ratio", "0.06"}}, "ssm_ratio=0.06 and mlp_ratio=4"},
      {"test_vmamba", {{"mlp_ratio", "0.06"}}, "ssm_ratio=2 and mlp_ratio=0.06"},
      {"test_plainmamba", {{"patch_size", "15"}}, "[plainmamba] patch_size=15"},
      {"test_plainmamba", {{"image_size", "15"}}, "image_size=15 and image_width=0"},
      {"test_plainmamba", {{"image_width", "15"}}, "image_size=64 and image_width=15"},
      {"test_plainmamba", {{"conv_size", "6"}}, "[plainmamba] conv_size=6"},
      {"test_plainmamba",
       {{"stem_convs", "65"}},
       "[plainmamba] stem_convs=65, expected at most 64"},
      {"test_efficientvmamba",
       {{"dims", "16,24"}, {"depths", "1,1"}},
       "[efficientvmamba] 2 dims, 2 depths"},
      {"test_efficientvmamba", {{"depths", "1,1"}}, "[efficientvmamba] 4 dims, 2 depths"},
      {"test_efficientvmamba", {{"d_conv", "4"}}, "d_conv=4, ssm_ratio=2"},
      {"test_efficientvmamba", {{"ssm_ratio", "0.06"}}, "ssm_ratio=0.06 and se_ratio=0.125"},
      {"test_efficientvmamba", {{"se_ratio", "0.015"}}, "ssm_ratio=2 and se_ratio=0.015"},
      {"test_localvmamba", {{"depths", "2"}}, "[localvmamba] 2 dims, 1 depths"},
      {"test_localvmamba", {{"d_conv", "2"}}, "d_conv=2 and ssm_ratio=2"},
      {"test_localvmamba", {{"ssm_ratio", "0.06"}}, "d_conv=3 and ssm_ratio=0.06"},
      {"test_localvmamba",
       {{"directions", "h,v,w2,w7"}},
       "[localvmamba] 4 directions, expected 4 for each of 2 blocks"},
      {"test_localvim", {{"image_size", "15"}}, "[localvim] image_size=15"},
      {"test_localvim",
       {{"directions", "h,v,w2,w7"}},
       "[localvim] 4 directions, expected 4 for each of 2 layers"},
      {"test_localvim", {{"class_token", "true"}}, "[localvim] rotary=true with class_token=true"},
      {"test_localvim", {{"embed_dim", "34"}}, "class_token=false and embed_dim=34"},
      {"test_s4nd", {{"d_state", "7"}}, "[s4nd] d_state=7"},
      {"test_s4nd", {{"l_max", "4097"}}, "l_max=4097, expected an even number and at most 4096"},
  });
  expect_accepted({{"test_vim", {{"patch_size", "64"}}},
                   {"test_vrwkv", {{"image_width", "16"}}},
                   {"test_vmamba", {{"dims", "2,24,32,48"}}},
                   {"test_vmamba", {{"ssm_ratio", "0.0625"}}},
                   {"test_plainmamba", {{"stem_convs", "64"}}},
                   {"test_plainmamba", {{"image_width", "16"}}},
                   {"test_efficientvmamba", {{"dims", "16,24,32"}, {"depths", "1,1,1"}}},
                   {"test_efficientvmamba", {{"se_ratio", "0.015625"}}},
                   {"test_localvmamba", {{"ssm_ratio", "0.0625"}}},
                   {"test_s4nd", {{"l_max", "4096"}}}});
}

// A class token stands in the middle of the sequence that the weights were made for.
TEST(Refusals, LocalVimWithAClassTokenTakesOneSize) {
  ModelSpec spec = find_model("test_localvim");
  override_fields(spec, {{"rotary", "false"}, {"class_token", "true"}});
  EXPECT_TRUE(spec.config->fixed_size());
  EXPECT_NO_THROW(build_graph(spec, 64, 64));
  for (const auto& [height, width] : {std::pair(64, 96), std::pair(96, 64)}) {
    const std::string size = std::to_string(height) + " x " + std::to_string(width);
    expect_error(ErrorCode::kUsage, {"[localvim]", size, "expected 64 x 64"},
                 [&, h = height, w = width] { build_graph(spec, h, w); });
  }
}

TEST(Refusals, OfDenseNetworks) {
  const std::string scales = "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1";  // sixteen
  expect_refused({
      {"test_vig_maskrcnn",
       {{"extra_extractors", "33"}},
       "[adapter] 33 extra_extractors, expected at most 32"},
      {"test_vig_maskrcnn", {{"cffn_ratio", "0"}}, "cffn_ratio 0 of 32 channels"},
      {"test_vig_maskrcnn", {{"deform_ratio", "0"}}, "do not divide the value width 0"},
      {"test_vig_maskrcnn",
       {{"finest_scale", "0"}},
       "[mask_rcnn] anchor_scale 8 and finest_scale 0"},
      {"test_vig_h_upernet", {{"pool_scales", scales + ",1"}}, "[upernet] 17 pool_scales"},
  });
  expect_accepted({{"test_vig_maskrcnn", {{"extra_extractors", "32"}}},
                   {"test_vig_maskrcnn", {{"extra_extractors", "0"}}},
                   {"test_vig_maskrcnn", {{"mask_convs", "0"}}},
                   {"test_vig_h_upernet", {{"pool_scales", scales}}}});
}

// A product of two fields that each have a sensible limit has one as well: it is never a negative
// width, nor one that wraps around.
TEST(Refusals, OfWidthsThatAreProductsOfFields) {
  const std::string most = "1048576";  // of a field; times 256 is the widest layer
  expect_refused({
      {"test_deit",
       {{"mlp_ratio", most}, {"embed_dim", "258"}},
       "[blocks.0.mlp] mlp_ratio 1048576 times 258 is 270532608, expected at most 268435456"},
      {"test_convnext",
       {{"mlp_ratio", most}, {"dims", "16,24,32,2048"}},
       "[stages.3.0] mlp_ratio 1048576 times 2048"},
      {"test_resnet", {{"expansion", most}, {"base_planes", "2048"}}, "[layer1.0] expansion"},
      {"test_efficientnet",
       {{"expand_ratios", "1,4," + most + ",6"}, {"widths", "8,2048,16,24"}},
       "[features.3.0] expand_ratios 1048576 times 2048"},
      {"test_efficientvmamba",
       {{"expand_ratio", most}, {"dims", "16,24,32,2048"}},
       "[layers.3.1] expand_ratio 1048576 times 2048"},
      {"test_efficientvmamba",
       {{"expand_ratio", most}, {"se_ratio", "64"}},
       "[layers.2.1] se_ratio 64 times 33554432"},
      {"test_vim", {{"expand", most}, {"embed_dim", "2048"}}, "[vim] expand 1048576 times 2048"},
      {"test_plainmamba", {{"expand", most}, {"embed_dim", "2048"}}, "[plainmamba] expand"},
      {"test_localvim", {{"expand", most}, {"embed_dim", "2048"}}, "[localvim] expand"},
      {"test_vrwkv", {{"hidden_rate", most}, {"embed_dim", "2048"}}, "[layers.0.ffn] hidden_rate"},
      {"test_s4nd", {{"copies", most}, {"embed_dim", "2048"}}, "[blocks.0] copies"},
      {"test_s4nd", {{"mlp_ratio", most}, {"embed_dim", "2048"}}, "[blocks.1] mlp_ratio"},
      {"test_vig_maskrcnn",
       {{"deform_points", most}, {"deform_heads", "2048"}, {"embed_dim", "2048"}},
       "[backbone.interactions.0.injector] deform_points 1048576 times 2048"},
  });
  // Of 256 channels: the widest that is built.
  const std::vector<Graph> widest = build("test_deit", {{"mlp_ratio", most}, {"embed_dim", "255"}});
  EXPECT_GT(widest[0].param_count(), int64_t{1} << 37);
  expect_accepted({{"test_deit", {{"mlp_ratio", most}, {"embed_dim", "256"}, {"heads", "2"}}}});
}

// The ends of what a field takes.
TEST(Refusals, OfValuesBeyondAField) {
  const auto set = [](const char* field, const char* value) {
    ModelSpec spec = find_model("test_vig");
    override_field(spec, field, value);
    return model_fields(spec).at(field);
  };
  EXPECT_EQ(set("classes", "1048576"), "1048576");
  EXPECT_EQ(set("expand_k", "64"), "64");
  expect_error(ErrorCode::kUsage, {"field classes is '1048577'", "from 1 to 1048576"},
               [&] { set("classes", "1048577"); });
  expect_error(ErrorCode::kUsage, {"field expand_k is '64.01'", "from 0 to 64"},
               [&] { set("expand_k", "64.01"); });
  expect_error(ErrorCode::kUsage, {"'w3'", "h, h_flip, v, v_flip, w2, w2_flip, w7 or w7_flip"}, [] {
    ModelSpec spec = find_model("test_localvim");
    override_field(spec, "directions", "h,w3");
  });
}

}  // namespace
}  // namespace vig::test
