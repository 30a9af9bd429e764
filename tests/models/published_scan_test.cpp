// The published models of the families with recurrences.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "support/files.h"
#include "support/peers.h"
#include "vig/models/registry.h"

namespace vig::test {
namespace {

using nlohmann::json;

struct Published {
  const char* model;
  const char* manifest;  // file
  const char* entry;     // in it
  int64_t parameters;
  double dense, scan;  // multiply-adds at 224, in units of 1e9
};

constexpr const char* kFirst = "state_dict_manifest.json";
constexpr const char* kSecond = "state_dict_manifest_mamba.json";

constexpr Published kPublished[] = {
    {"vim_t", kFirst, "vim_tiny", 7148008, 1.293, 0.240},
    {"vim_s", kFirst, "vim_small", 25796584, 4.851, 0.479},
    {"vrwkv_t", kFirst, "vrwkv_tiny", 6155176, 1.156, 0.005},
    {"vrwkv_s", kFirst, "vrwkv_small", 23820136, 4.567, 0.010},
    {"vrwkv_b", kFirst, "vrwkv_base", 93645544, 18.151, 0.020},
    {"vmamba_t", kFirst, "vmamba_tiny_s2l5", 30705832, 4.716, 0.065},
    {"vmamba_s", kFirst, "vmamba_small_s2l15", 50147752, 8.499, 0.101},
    {"vmamba_b", kFirst, "vmamba_base_s2l15", 88557800, 15.070, 0.135},
    {"vmamba_t_s1l8", kFirst, "vmamba_tiny_s1l8", 30249064, 4.813, 0.038},
    {"plainmamba_l1", kSecond, "plainmamba_l1", 7551656, 1.965, 0.477},
    {"plainmamba_l2", kSecond, "plainmamba_l2", 26145832, 5.979, 0.954},
    {"plainmamba_l3", kSecond, "plainmamba_l3", 50956456, 10.766, 1.669},
    {"efficientvmamba_t", kSecond, "efficientvmamba_tiny", 6493660, 0.657, 0.060},
    {"efficientvmamba_s", kSecond, "efficientvmamba_small_width64", 11273688, 1.143, 0.079},
    {"efficientvmamba_b", kSecond, "efficientvmamba_base", 33717136, 3.689, 0.119},
    // The released code fills all sequences of a block up to the longest: 0.880 and 1.590.
    {"localvmamba_t", kSecond, "localvmamba_tiny", 25527160, 3.699, 0.871},
    {"localvmamba_s", kSecond, "localvmamba_small", 49748536, 7.711, 1.590},
};

double giga(int64_t count) { return std::round(static_cast<double>(count) / 1e6) / 1e3; }

TEST(PublishedScans, CountsOfParametersAndMultiplyAdds) {
  for (const Published& published : kPublished) {
    const Graph graph = build_graph(find_model(published.model), 224, 224);
    int64_t trained = 0;  // the published counts leave out the statistics of batch norms
    for (const ParamSpec& param : graph.params) {
      if (param.trained) trained += param.shape.elements();
    }
    EXPECT_EQ(trained, published.parameters) << published.model;
    const MacCount macs = count_macs(graph);
    EXPECT_DOUBLE_EQ(giga(macs.dense), published.dense) << published.model;
    EXPECT_DOUBLE_EQ(giga(macs.scan), published.scan) << published.model;
  }
}

TEST(PublishedScans, EveryTensorOfTheReleasedCheckpoints) {
  for (const Published& published : kPublished) {
    const std::filesystem::path file = peers_beside_tree() / published.manifest;
    if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
    const json entry = json::parse(read_file(file)).at(published.entry);
    const ModelSpec spec = find_model(published.model);
    std::map<std::string, std::vector<int64_t>> expected, actual;
    for (const char* part : {"params", "buffers"}) {
      for (const auto& [name, shape] : entry.at(part).items()) {
        if (!is_buffer(spec, name)) expected[name] = shape.get<std::vector<int64_t>>();
      }
    }
    for (const ParamSpec& param : build_graph(spec, 224, 224).params) {
      actual[param.name] = param.shape.sizes();
    }
    EXPECT_EQ(actual, expected) << published.model;
  }
}

}  // namespace
}  // namespace vig::test
