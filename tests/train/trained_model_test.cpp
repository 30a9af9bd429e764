#include "vig/train/trained_model.h"

#include <gtest/gtest.h>

#include "support/errors.h"
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

// A file that does not name its classes, as published ones, has the same where it has as many.
TEST(TrainedModel, AHeadWithoutNamesIsKeptForAsManyClasses) {
  const TempDir folder;
  TrainOptions options = tiny_options("small");
  options.seed = 5;
  train::TrainedModel stored = make_trained_model(options, kClasses);
  stored.classes = {};
  options.model = (folder / "unnamed.safetensors").string();
  write_trained_model(options.model, stored, stored.parameters.values(), {});
  options.seed = 6;
  options.fields = {};
  EXPECT_EQ(make_trained_model(options, kClasses).beginning.fresh, 0);
  EXPECT_EQ(make_trained_model(options, {"a", "b"}).beginning.fresh, 2 * 32 + 2);
}

TEST(TrainedModel, ClassesNeedAClassifier) {
  TrainOptions options;
  for (const auto& [model, task] :
       {std::pair("test_vig_upernet", "segmentation"), {"test_vig_maskrcnn", "detection"}}) {
    options.model = model;
    expect_error(
        ErrorCode::kUsage,
        {fmt::format("{} is a model for {}, and the data is for classification", model, task)},
        [&] { plan_model(options, kClasses, ModelTask::kClassify); });
  }
}

}  // namespace
}  // namespace vig::test
