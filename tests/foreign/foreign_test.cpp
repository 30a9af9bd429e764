// A family from outside works like our own: found by name, its checkpoints recognised,
// images classified. What it computes is compared with the reference execution and with training
// in the tests of runtime/ and train/, by its line in runtime/networks.cpp.
#include <gtest/gtest.h>

#include <algorithm>

#include "foreign/mini_resnet.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/tree.h"
#include "vig/pipeline/classifier.h"
#include "vig/pipeline/model_source.h"
#include "vig/runtime/session.h"
#include "vig/weights/safetensors.h"

namespace vig::test {
namespace {

class Foreign : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { add_family(mini_resnet_family()); }

  // Fresh weights without a word on what they are, as published checkpoints come.
  static ModelSource bare_file(const TempDir& folder, const ModelSpec& spec) {
    const Graph graph = build_graph(spec, spec.recipe.crop, spec.recipe.crop);
    const auto weights = random_weights(graph.params, 1);
    std::vector<NamedTensor> tensors;
    for (size_t i = 0; i < weights->size(); ++i) {
      tensors.push_back(
          {weights->spec(i).name, {weights->data(i), DType::kF32, weights->spec(i).shape}});
    }
    ModelRequest request;
    request.model = (folder / "bare.safetensors").string();
    write_safetensors(request.model, tensors);
    return find_source(request);
  }
};

TEST_F(Foreign, ModelsAreFoundByNameAndTheirFieldsSet) {
  ModelSpec spec = find_model("mini_resnet_12");
  EXPECT_EQ(spec.family, "mini_resnet");
  EXPECT_EQ(find_family("mini_resnet").base, "mini_resnet_8");
  override_field(spec, "stem_width", "4");
  const Graph graph = build_graph(spec, 64, 64);
  EXPECT_EQ(graph.node(graph.find_output("features")).grid, (Grid{8, 8, 32}));
  EXPECT_EQ(graph.node(graph.find_output("stage0")).grid, (Grid{16, 16, 16}));
  EXPECT_EQ(find_model("vig_t").family, "vig");
}

TEST_F(Foreign, ParametersKnowWhatTrainingDoesWithThem) {
  const Graph graph = make_mini_resnet(64, 64);
  for (const ParamSpec& param : graph.params) {
    EXPECT_EQ(param.trained, param.name.find("running") == std::string::npos) << param.name;
    EXPECT_EQ(param.head, param.name.starts_with("fc.")) << param.name;
    EXPECT_EQ(param.decayed, param.shape.rank() > 1) << param.name;
    EXPECT_EQ(param.level, param.name.starts_with("layer1")                 ? 1
                           : param.name.starts_with("layer2") || param.head ? 2
                                                                            : 0)
        << param.name;
  }
}

TEST_F(Foreign, NamesMayNotBeTaken) {
  Family family = mini_resnet_family();
  expect_error(ErrorCode::kUsage, {"families", "mini_resnet"}, [&] { add_family(family); });
  family.name = "other";
  expect_error(ErrorCode::kUsage, {"models", "mini_resnet_8"}, [&] { add_family(family); });
}

TEST_F(Foreign, CheckpointsAreRecognisedAndImagesClassified) {
  const TempDir folder;
  ModelSpec spec = find_model("mini_resnet_12");
  override_field(spec, "classes", "5");
  const ModelSource source = bare_file(folder, spec);
  EXPECT_EQ(source.known, ModelSource::Known::kByShapes);
  EXPECT_EQ(source.spec.name, "mini_resnet_12");
  EXPECT_EQ(model_classes(source.spec), 5);
  const Classifier classifier(source, {.threads = 2});
  const ImageFiles images({std::string(kFixtures) + "/image/photos/cat_chelsea.png"});
  const ClassifiedImage result = classifier.classify(images, 5).front();
  EXPECT_EQ(result.error, "");
  ASSERT_EQ(result.prediction.scores.size(), 5u);
  EXPECT_GT(result.prediction.scores.front().logit, result.prediction.scores.back().logit);
}

}  // namespace
}  // namespace vig::test
