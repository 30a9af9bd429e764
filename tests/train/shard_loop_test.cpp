// The gradient of a step, put together from shards and passes.
#include "vig/train/shard_loop.h"

#include <gtest/gtest.h>

#include <mutex>

#include "train/dense_fixtures.h"

namespace vig::test {
namespace {

using train::Parameters;
using train::run_shards;
using train::ShardLoop;
using train::ShardWork;
using train::StepSums;
using train::TrainOptions;

// The announced number of backward passes.
class CountingGroup : public train::Group {
 public:
  void begin_reduce(std::span<Parameters* const>, int64_t passes) override { announced = passes; }
  int64_t announced = 0;
};

// Image i, of those that there are, has the loss (i + 1) * w for a weight w of 1.
class ShardLoopTest : public ::testing::Test {
 protected:
  StepSums run(int64_t images, int64_t asked) {
    passes_ = 0;
    std::mutex mutex;
    return run_shards({workers_, shards_, group_, 2, 1, 1}, images, asked,
                      [&](const ShardWork& work) {
                        double sum = 0;
                        for (int64_t i = 0; i < work.count; ++i) {
                          sum += static_cast<double>(work.first + i + 1);
                        }
                        work.sums[0] += sum;
                        const std::lock_guard lock(mutex);
                        ++passes_;
                        return work.values[0].sum() * (sum / static_cast<double>(work.count));
                      });
  }
  double gradient() { return parameters_[0].grad().item<double>(); }

  const std::vector<ParamSpec> specs_ = {{"w", {1}, ones_init()}};
  Parameters parameters_{specs_, *random_weights(specs_, 1), at::kCPU};
  train::Workers workers_{3};
  train::Shards shards_{parameters_, 3};
  CountingGroup group_;
  int64_t passes_ = 0;
};

TEST_F(ShardLoopTest, IsTheMeanOverTheImages) {
  const StepSums sums = run(7, 7);
  EXPECT_NEAR(gradient(), 4, 1e-6);
  EXPECT_NEAR(sums.loss, 4, 1e-6);
  EXPECT_EQ(sums.images, 7);
  EXPECT_EQ(sums.figures, std::vector<double>{28}) << "a sum, not a mean";
  EXPECT_EQ(passes_, 6);
  EXPECT_EQ(group_.announced, passes_);
}

// What a shard had in the step before is not added to a step that gives it no images.
TEST_F(ShardLoopTest, ShardsWithoutImagesAddNothing) {
  run(7, 7);
  for (const int64_t images : {1, 2}) {
    const StepSums sums = run(images, images);
    EXPECT_NEAR(gradient(), images == 1 ? 1 : 1.5, 1e-6);
    EXPECT_NEAR(sums.loss, gradient(), 1e-6);
    EXPECT_EQ(passes_, images);
    EXPECT_EQ(group_.announced, passes_);
  }
  const StepSums none = run(0, 7);
  EXPECT_EQ(none.images, 0);
  EXPECT_EQ(gradient(), 0);
}

TEST_F(ShardLoopTest, ImagesThatAreNotThereDoNotWeighIn) {
  const StepSums sums = run(5, 8);
  EXPECT_NEAR(gradient(), 3, 1e-6);
  EXPECT_NEAR(sums.loss, 3, 1e-6);
  EXPECT_EQ(sums.images, 5);
  EXPECT_EQ(sums.figures, std::vector<double>{15});
}

TEST(Passes, FollowTheMemoryThatImagesTake) {
  TrainOptions options = tiny_options("small");
  train::TrainedModel model = make_trained_model(options, {"a", "b"});
  const auto passes = [&](int64_t images, int size) {
    model.height = model.width = size;
    return count_passes(options, images, model);
  };
  EXPECT_EQ(passes(8, 224), 1);
  EXPECT_EQ(passes(9, 224), 2);
  EXPECT_EQ(passes(16, 24), 1);
  EXPECT_EQ(passes(17, 24), 2) << "sixteen are the most";
  EXPECT_EQ(passes(5, 448), 3);
  EXPECT_EQ(passes(3, 2048), 3) << "one is the least";
  options.accumulate = 5;
  EXPECT_EQ(passes(100, 24), 5);
  options.accumulate = 0;
  options.device = "cuda";
  EXPECT_EQ(passes(100, 2048), 1);
}

TEST(Passes, KeepGroupsTogetherWhereTheyAreNormalised) {
  TrainOptions options = tiny_options("small");
  options.norm_group = 3;
  EXPECT_EQ(images_together(make_trained_model(options, {"a", "b"}), options), 1);
  options.model = "test_resnet";
  options.fields = {};
  options.size = 64;
  EXPECT_EQ(images_together(make_trained_model(options, {"a", "b"}), options), 3);
  TrainOptions dense = tiny_segmentation();
  dense.norm_group = 3;
  const train::ModelPlan plan = plan_model(dense, {"a", "b"}, ModelTask::kSegment);
  const train::TrainedModel model = make_trained_model(dense, plan, 64, 64);
  EXPECT_EQ(images_together(model, dense), 3);
  EXPECT_EQ(count_passes(dense, 6, model), 2) << "a group at a time";
  EXPECT_EQ(count_passes(dense, 7, model), 3);
}

}  // namespace
}  // namespace vig::test
