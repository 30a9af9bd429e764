// The baselines as published: every tensor of their public model classes, counts of parameters and
// multiply-adds.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "support/files.h"
#include "support/peers.h"
#include "vig/models/family.h"

namespace vig::test {
namespace {

using nlohmann::json;

struct Published {
  const char* model;
  const char* entry;         // of the manifests
  const char *dense, *scan;  // multiply-adds at the model's own size, in units of 1e9, as printed
};

constexpr Published kPublished[] = {
    {"deit_t", "deit_tiny_patch16_224", "1.254", "0"},
    {"deit_s", "deit_small_patch16_224", "4.599", "0"},
    {"deit_b", "deit_base_patch16_224", "17.564", "0"},
    {"vim_t", "vim_tiny", "1.293", "0.240"},
    {"vim_s", "vim_small", "4.851", "0.479"},
    {"vrwkv_t", "vrwkv_tiny", "1.156", "0.005"},
    {"vrwkv_s", "vrwkv_small", "4.567", "0.010"},
    {"vrwkv_b", "vrwkv_base", "18.151", "0.020"},
    {"resnet50", "resnet50", "4.089", "0"},
    {"swin_t", "swin_tiny_patch4_window7_224", "4.491", "0"},
    {"swin_s", "swin_small_patch4_window7_224", "8.741", "0"},
    {"swin_b", "swin_base_patch4_window7_224", "15.431", "0"},
    {"convnext_t", "convnext_tiny", "4.456", "0"},
    {"convnext_s", "convnext_small", "8.684", "0"},
    {"convnext_b", "convnext_base", "15.355", "0"},
    {"vmamba_t", "vmamba_tiny_s2l5", "4.716", "0.065"},
    {"vmamba_s", "vmamba_small_s2l15", "8.499", "0.101"},
    {"vmamba_b", "vmamba_base_s2l15", "15.070", "0.135"},
    {"vmamba_t_s1l8", "vmamba_tiny_s1l8", "4.813", "0.038"},
    {"plainmamba_l1", "plainmamba_l1", "1.965", "0.477"},
    {"plainmamba_l2", "plainmamba_l2", "5.979", "0.954"},
    {"plainmamba_l3", "plainmamba_l3", "10.766", "1.669"},
    {"efficientvmamba_t", "efficientvmamba_tiny", "0.657", "0.060"},
    {"efficientvmamba_s", "efficientvmamba_small_width64", "1.143", "0.079"},
    {"efficientvmamba_b", "efficientvmamba_base", "3.689", "0.119"},
    // The released code fills all sequences of a block up to the longest: 3.699 and 0.880.
    {"localvmamba_t", "localvmamba_tiny", "3.687", "0.876"},
    {"localvmamba_s", "localvmamba_small", "7.711", "1.590"},
    {"localvim_t", "localvim_tiny", "1.260", "0.397"},
    {"localvim_s", "localvim_small", "4.550", "0.795"},
    {"s4nd_b", "s4nd_vit_b_16_single_kernel", "16.7636", "0.708"},
    {"s4nd_convnext_t", "s4nd_convnext_t_blocks_only", "4.350", "0.15"},
    // The reference counts 0.50, with taps that reach beyond the image.
    {"s4nd_convnext_t_released", "s4nd_convnext_t_released_config", "4.269", "0.489"},
    {"gmlp_t", "gmlp_ti16_224", "1.329", "0"},
    {"gmlp_s", "gmlp_s16_224", "4.392", "0"},
    {"gmlp_b", "gmlp_b16_224", "15.72", "0"},
    {"regnety_4g", "regnet_y_4gf_paper_torchvision_names", "3.9733", "0"},
    {"regnety_8g", "regnet_y_8gf_paper_torchvision_names", "7.9631", "0"},
    {"regnety_8g_tv", "regnet_y_8gf", "8.4731", "0"},
    {"regnety_16g", "regnet_y_16gf", "15.9115", "0"},
    {"efficientnet_b3", "efficientnet_b3", "1.8271", "0"},
    {"efficientnet_b4", "efficientnet_b4", "4.3938", "0"},
    {"efficientnet_b5", "efficientnet_b5", "10.2664", "0"},
    {"efficientnet_b6", "efficientnet_b6", "19.0676", "0"},
    {"efficientnet_b7", "efficientnet_b7", "37.7459", "0"},
};

// All manifests as one.
const json& manifests() {
  static const json all = [] {
    json entries = json::object();
    for (const char* part : {"", "_mamba", "_more", "_s4nd_convnext"}) {
      const std::string name = std::string("state_dict_manifest") + part + ".json";
      entries.update(json::parse(read_file(peers_in_tree() / name)));
    }
    return entries;
  }();
  return all;
}

Graph build(const char* model) {
  const ModelSpec spec = find_model(model);
  return build_graph(spec, spec.recipe.crop, spec.recipe.crop);
}

TEST(Peers, EveryModelIsListedHere) {
  std::set<std::string> listed;
  for (const Published& published : kPublished) listed.insert(published.model);
  for (const ModelSpec& spec : model_zoo()) {
    if (spec.family.starts_with("vig") || spec.name.starts_with("test_")) continue;
    if (spec.imported) continue;  // see pipeline/torchvision_test.cpp, published_names_test.cpp
    if (spec.config->task() != ModelTask::kClassify) continue;  // see dense_test.cpp
    EXPECT_TRUE(listed.contains(spec.name)) << spec.name;
  }
}

// Statistics of batch norms are parameters of ours and buffers of the manifests'.
TEST(Peers, HaveEveryTensorOfThePublicModels) {
  for (const Published& published : kPublished) {
    const json& entry = manifests().at(published.entry);
    std::map<std::string, std::vector<int64_t>> actual, expected;
    for (const ParamSpec& param : build(published.model).params) {
      actual[param.name] = param.shape.sizes();
    }
    for (const auto& [name, shape] : entry.at("params").items())
      expected[name] = shape.get<std::vector<int64_t>>();
    for (const auto& [name, shape] : entry.at("buffers").items()) {
      if (!is_buffer(find_model(published.model), name))
        expected[name] = shape.get<std::vector<int64_t>>();
    }
    EXPECT_EQ(actual, expected) << published.model;
  }
}

TEST(Peers, HaveTheCountsOfThePublicModels) {
  // A printed number and ours, rounded to its digits.
  const auto expect_printed = [](int64_t count, const std::string& printed, const char* model) {
    const size_t point = printed.find('.');
    const size_t digits = point == std::string::npos ? 0 : printed.size() - point - 1;
    const double unit = std::pow(10.0, 9.0 - static_cast<double>(digits));
    EXPECT_NEAR(static_cast<double>(count), std::stod(printed) * 1e9, 0.5001 * unit) << model;
  };
  for (const Published& published : kPublished) {
    const Graph graph = build(published.model);
    int64_t trained = 0;
    for (const ParamSpec& param : graph.params) {
      if (param.trained) trained += param.shape.elements();
    }
    EXPECT_EQ(trained, manifests().at(published.entry).at("num_params")) << published.model;
    const MacCount macs = count_macs(graph);
    expect_printed(macs.dense, published.dense, published.model);
    expect_printed(macs.scan, published.scan, published.model);
  }
}

// A released checkpoint of LocalVim-T has a class token instead of rotary positions.
TEST(Peers, LocalVimWithAClassToken) {
  ModelSpec spec = find_model("localvim_t");
  override_fields(spec, {{"rotary", "false"}, {"class_token", "true"}});
  const Graph graph = build_graph(spec, 224, 224);
  const json& entry = manifests().at("localvim_tiny_middle_cls_token");
  std::map<std::string, std::vector<int64_t>> actual;
  for (const ParamSpec& param : graph.params) actual[param.name] = param.shape.sizes();
  EXPECT_EQ(actual, entry.at("params").get<decltype(actual)>());
  EXPECT_EQ(graph.param_count(), entry.at("num_params"));
  EXPECT_EQ(count_macs(graph).dense, 1'266'617'856);
  EXPECT_EQ(count_macs(graph).scan, 399'421'440);
}

// The released configuration of S4ND-ViT stores kernels that nothing reads.
TEST(Peers, S4ndPassesOverItsUnusedKernels) {
  const ModelSpec spec = find_model("s4nd_b");
  const json& entry = manifests().at("s4nd_vit_b_16");
  std::set<std::string> asked;
  for (const ParamSpec& param : build("s4nd_b").params) asked.insert(param.name);
  int64_t unused = 0;
  for (const char* list : {"params", "buffers"}) {
    for (const auto& [name, shape] : entry.at(list).items()) {
      EXPECT_NE(is_buffer(spec, name), asked.contains(name)) << name;
      unused += is_buffer(spec, name);
    }
  }
  EXPECT_EQ(unused, 12 * 7);
}

}  // namespace
}  // namespace vig::test
