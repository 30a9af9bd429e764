// torchvision's checkpoints by its own networks: torchvision_models.py writes them with random
// weights, and what they compute. Skipped where Python has no torchvision.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"
#include "vig/models/not_built.h"
#include "vig/pipeline/model_source.h"
#include "vig/pipeline/published_file.h"
#include "vig/runtime/session.h"
#include "vig/verify/golden_case.h"
#include "vig/weights/elements.h"

namespace vig::test {
namespace {

using Fields = std::map<std::string, std::string>;

constexpr double kTolerance = 1e-5;  // of the largest logit

// Debian's module is for Debian's Python, which need not be the first in PATH.
std::string find_python() {
  for (const char* python : {"/usr/bin/python3", "python3"}) {
    if (run_program({python, "-c", "import torchvision"}).exit_code == 0) return python;
  }
  return "";
}

// Our name of each of torchvision's networks.
const std::map<std::string, std::string> kModels = {
    {"resnet18", "resnet18"},
    {"resnet34", "resnet34"},
    {"resnet50", "resnet50"},
    {"resnet101", "resnet101"},
    {"resnet152", "resnet152"},
    {"resnext50_32x4d", "resnext50_32x4d"},
    {"resnext101_32x8d", "resnext101_32x8d"},
    {"resnext101_64x4d", "resnext101_64x4d"},
    {"wide_resnet50_2", "wide_resnet50_2"},
    {"wide_resnet101_2", "wide_resnet101_2"},
    {"convnext_tiny", "convnext_t"},
    {"convnext_small", "convnext_s"},
    {"convnext_base", "convnext_b"},
    {"convnext_large", "convnext_l"},
    {"swin_t", "swin_t"},
    {"swin_s", "swin_s"},
    {"swin_b", "swin_b"},
    {"vit_b_16", "deit_b"},
    {"vit_b_32", "vit_b_32"},
    {"vit_l_16", "vit_l_16"},
    {"vit_l_32", "vit_l_32"},
    {"vit_h_14", "vit_h_14"},
    {"regnet_y_400mf", "regnety_400m"},
    {"regnet_y_800mf", "regnety_800m_tv"},
    {"regnet_y_1_6gf", "regnety_1_6g"},
    {"regnet_y_3_2gf", "regnety_3_2g"},
    {"regnet_y_8gf", "regnety_8g_tv"},
    {"regnet_y_16gf", "regnety_16g"},
    {"regnet_y_32gf", "regnety_32g"},
    {"regnet_y_128gf", "regnety_128g"},
    {"efficientnet_b0", "efficientnet_b0"},
    {"efficientnet_b1", "efficientnet_b1"},
    {"efficientnet_b2", "efficientnet_b2"},
    {"efficientnet_b3", "efficientnet_b3"},
    {"efficientnet_b4", "efficientnet_b4"},
    {"efficientnet_b5", "efficientnet_b5"},
    {"efficientnet_b6", "efficientnet_b6"},
    {"efficientnet_b7", "efficientnet_b7"},
};

class Torchvision : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitised) GTEST_SKIP() << "takes minutes with sanitisers";
    python_ = find_python();
    if (python_.empty()) GTEST_SKIP() << "Python has no module torchvision";
  }

  void make(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin() + 1, folder_.path().string());
    arguments.insert(arguments.begin(),
                     {python_, std::string(kSourceDir) + "/tests/pipeline/torchvision_models.py"});
    const RunResult result = run_program(arguments, {.time_limit = 600});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  // The file runs as `model`, which is recognised, or named with the fields that differ.
  void expect_agreement(const std::string& network, const std::string& model,
                        const Fields& fields = {}) const {
    std::string file = network;
    std::ranges::replace(file, ':', '-');
    ModelRequest request;
    request.model = (folder_ / (file + ".pth")).string();
    if (!fields.empty()) {
      request.arch = model;
      request.fields = fields;
    }
    const ModelSource source = find_source(request);
    EXPECT_EQ(source.spec.name, model);
    const auto weights = source_weights(source);
    const Checkpoint expected = Checkpoint::open((folder_ / (file + "-expected.pth")).string());
    int sizes = 0;
    for (; expected.find("input" + std::to_string(sizes)) != nullptr; ++sizes) {
      const TensorView& input = expected.find("input" + std::to_string(sizes))->view;
      const TensorView& logits = expected.find("logits" + std::to_string(sizes))->view;
      const std::vector<float> image = channels_last(to_floats(input), 1, 3);
      const Graph graph = build_graph(source.spec, static_cast<int>(input.shape[2]),
                                      static_cast<int>(input.shape[3]));
      Session session(graph, weights, {});
      std::ranges::copy(image, session.input(0));
      session.run(1);
      const float* found = session.value(graph.find_output("logits"), 0);
      const std::vector<float> right = to_floats(logits);
      ASSERT_EQ(right.size(), static_cast<size_t>(model_classes(source.spec)));
      double error = 0, largest = 0;
      for (size_t i = 0; i < right.size(); ++i) {
        ASSERT_TRUE(std::isfinite(found[i])) << network;
        error = std::max(error, std::abs(double{found[i]} - double{right[i]}));
        largest = std::max(largest, std::abs(double{right[i]}));
      }
      EXPECT_LT(error, kTolerance * largest) << network << " at " << input.shape.str();
      printf("%s at %s: relative error %.2g\n", network.c_str(), input.shape.str().c_str(),
             error / largest);
    }
    EXPECT_GE(sizes, 1);
  }

  // Networks in full, and shallow ones with the fields that make them so.
  void expect_all(const std::vector<std::string>& full, const std::vector<std::string>& shallow,
                  const Fields& fields) const {
    std::vector<std::string> arguments = {"run"};
    arguments.insert(arguments.end(), full.begin(), full.end());
    arguments.insert(arguments.end(), shallow.begin(), shallow.end());
    make(arguments);
    const auto model = [](const std::string& network) {
      return kModels.at(network.substr(0, network.find(':')));
    };
    for (const std::string& network : full) expect_agreement(network, model(network));
    for (const std::string& network : shallow) expect_agreement(network, model(network), fields);
  }

  const TempDir folder_;
  std::string python_;
};

// Where one signature stands for all sizes.
std::string network_family(const std::string& network) {
  for (const char* family :
       {"regnet_x", "mnasnet", "shufflenet_v2", "squeezenet", "densenet", "vgg"}) {
    if (network.starts_with(family)) return family;
  }
  return network;
}

// Every tensor of every size, without its numbers; what is not built is named as what it is.
TEST_F(Torchvision, EveryClassifierIsKnownByItsTensors) {
  make({"shapes"});
  const auto networks = nlohmann::json::parse(read_file(folder_ / "shapes.json"));
  size_t built = 0;
  for (const auto& [network, listed] : networks.items()) {
    std::map<std::string, Shape> tensors;
    for (const auto& [name, sizes] : listed.items()) {
      tensors.emplace(name, Shape(sizes.get<std::vector<int64_t>>()));
    }
    if (!kModels.contains(network)) {
      const std::string name = known_but_not_built([&](const std::string& tensor) {
        const auto found = tensors.find(tensor);
        return found == tensors.end() ? nullptr : &found->second;
      });
      EXPECT_EQ(name, "torchvision's " + network_family(network));
      continue;
    }
    ++built;
    const ModelSpec spec = find_model(kModels.at(network));
    const Family& family = find_family(spec.family);
    std::span<const NameRule> rules;
    for (const PublishedNames& names : family.names) {
      if (names.publisher == "torchvision") rules = names.rules;
      EXPECT_EQ(tensors.contains(std::string(names.sign)), names.publisher == "torchvision")
          << network << ", " << names.sign;
    }
    std::map<std::string, std::vector<int64_t>> actual, expected;
    for (const ParamSpec& param : build_graph(spec, 224, 224).params) {
      actual[param.name] = param.shape.sizes();
    }
    for (const auto& [name, shape] : tensors) {
      const OurName ours = apply_rules(name, rules);
      if (is_buffer(spec, ours.name)) continue;
      std::vector<int64_t>& sizes = expected[ours.name] = shape.sizes();
      if (ours.drop_ones) std::erase(sizes, 1);
    }
    EXPECT_EQ(actual, expected) << network;
  }
  EXPECT_EQ(built, kModels.size());
}

using Networks = std::vector<std::string>;

TEST_F(Torchvision, ResNets) {
  const Networks shallow = {"resnet34:shallow", "resnet101:shallow", "wide_resnet50_2:shallow"};
  expect_all({"resnet18", "resnet50"}, shallow, {{"layers", "1,2,1,1"}});
}

TEST_F(Torchvision, ResNeXts) {
  const Networks shallow = {"resnext50_32x4d:shallow", "resnext101_32x8d:shallow",
                            "resnext101_64x4d:shallow"};
  expect_all({}, shallow, {{"layers", "1,2,1,1"}});
}

TEST_F(Torchvision, ConvNeXts) {
  const Networks shallow = {"convnext_small:shallow", "convnext_base:shallow",
                            "convnext_large:shallow"};
  expect_all({"convnext_tiny"}, shallow, {{"depths", "1,1,2,1"}});
}

TEST_F(Torchvision, Swins) {
  expect_all({"swin_t"}, {"swin_s:shallow", "swin_b:shallow"}, {{"depths", "2,2,2,2"}});
}

TEST_F(Torchvision, VisionTransformers) {
  const Networks shallow = {"vit_b_16:shallow:96",  "vit_b_32:shallow",     "vit_b_32:shallow:384",
                            "vit_l_16:shallow",     "vit_l_16:shallow:128", "vit_l_32:shallow",
                            "vit_l_32:shallow:384", "vit_h_14:shallow",     "vit_h_14:shallow:98"};
  expect_all({"vit_b_16"}, shallow, {{"depth", "2"}});
}

TEST_F(Torchvision, RegNets) {
  const Networks shallow = {"regnet_y_800mf:shallow", "regnet_y_1_6gf:shallow",
                            "regnet_y_3_2gf:shallow", "regnet_y_8gf:shallow",
                            "regnet_y_16gf:shallow"};
  expect_all({"regnet_y_400mf"}, shallow, {{"depths", "1,2,1,1"}});
}

TEST_F(Torchvision, EfficientNets) {
  Networks shallow;
  for (char size = '1'; size <= '7'; ++size) {
    shallow.push_back(std::string("efficientnet_b") + size + ":shallow");
  }
  expect_all({"efficientnet_b0"}, shallow, {{"depths", "1,2,1,1,1,1,1"}});
}

// Any network in full, by hand: VIG_TORCHVISION=NAME.
TEST_F(Torchvision, OneInFull) {
  const char* network = std::getenv("VIG_TORCHVISION");
  if (network == nullptr) GTEST_SKIP() << "VIG_TORCHVISION names no network";
  expect_all({network}, {}, {});
}

}  // namespace
}  // namespace vig::test
