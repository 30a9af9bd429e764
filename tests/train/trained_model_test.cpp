#include "vig/train/trained_model.h"

#include <gtest/gtest.h>

#include "train/dense_fixtures.h"

namespace vig::test {
namespace {

using train::TrainOptions;

const std::vector<std::string> kClasses = {"ground", "rectangle", "disc"};

TEST(TrainedModel, WindowsOfAnotherSizeKeepTheirShareOfOverlap) {
  TrainOptions options = tiny_segmentation();
  for (const auto& [size, stride] : {std::pair(64, 42), {128, 84}, {32, 21}}) {
    options.size = size;
    const Recipe recipe = plan_model(options, kClasses, ModelTask::kSegment).spec.recipe;
    EXPECT_EQ(recipe.resize, size);
    EXPECT_EQ(recipe.crop, size);
    EXPECT_EQ(recipe.longest, 4 * size);
    EXPECT_EQ(recipe.window_stride, stride);
  }
}

TEST(TrainedModel, OfAClassifierTheBackboneTakesTheShapeAlone) {
  const TempDir folder;
  TrainOptions classifier = tiny_options("small");
  classifier.fields = {{"embed_dim", "32"}, {"heads", "2"}, {"depth", "3"}, {"drop_path", "0.25"}};
  const train::TrainedModel model = make_trained_model(classifier, kClasses);
  TrainOptions options = tiny_segmentation();
  options.fields = {};
  options.model = (folder / "classifier.safetensors").string();
  write_trained_model(options.model, model, model.parameters.values(), {});

  const train::ModelPlan plan = plan_model(options, {"a", "b"}, ModelTask::kSegment);
  EXPECT_TRUE(plan.from_classifier);
  const auto own = model_fields(find_model("test_vig_upernet"));
  const auto fields = model_fields(plan.spec);
  EXPECT_EQ(fields.at("depth"), "3");
  EXPECT_EQ(fields.at("classes"), "2");
  EXPECT_NE(own.at("drop_path"), "0.25");
  EXPECT_EQ(fields.at("drop_path"), own.at("drop_path"));
}

}  // namespace
}  // namespace vig::test
