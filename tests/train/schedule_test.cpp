// Learning rates of the paper's dense presets, against golden values.
#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/golden_tensors.h"
#include "vig/models/family.h"
#include "vig/train/optimizer.h"
#include "vig/train/presets.h"

namespace vig::test {
namespace {

using train::Schedule;
using train::TrainOptions;

void expect_rates(const Schedule& schedule, const std::string& task) {
  const GoldenTensors golden("schedule");
  const GoldenTensor steps = golden.read(task + "_iter"), rates = golden.read(task + "_lr");
  for (size_t i = 0; i < steps.values.size(); ++i) {
    const double rate = schedule.lr(static_cast<int64_t>(steps.values[i]));
    EXPECT_NEAR(rate, rates.values[i], 1e-12 * rates.values[i]) << steps.values[i];
  }
}

TEST(Schedule, OfSegmentationIsTheGoldenOne) {
  TrainOptions options = train::preset_options("ade20k");
  options.lr = 6e-5;
  options.warmup_lr = 6e-11;
  expect_rates(Schedule(options, 1264, 160000), "seg");
}

TEST(Schedule, OfDetectionIsTheGoldenOne) {
  expect_rates(Schedule(train::preset_options("coco"), 7330, 12 * 7330), "det");
}

// Patch and position embedding, the blocks, and everything else.
TEST(Schedule, LayersLearnAtTheGoldenRates) {
  const ModelSpec spec = find_model("vig_t_upernet");
  const Graph graph = build_graph(spec, 64, 64);
  int last = 0;
  for (const ParamSpec& param : graph.params) last = std::max(last, param.level);
  EXPECT_EQ(last, 13);
  for (const char* decay : {"0.8", "0.85", "0.95"}) {
    const GoldenTensor scales = GoldenTensors("schedule").read(std::string("layer_scale/") + decay);
    for (const ParamSpec& param : graph.params) {
      const std::string& name = param.name;
      const std::string block = "backbone.blocks.";
      size_t index = 13;
      if (name.starts_with("backbone.patch_embed") || name == "backbone.pos_embed") index = 0;
      if (name.starts_with(block)) index = std::stoul(name.substr(block.size())) + 1;
      EXPECT_EQ(static_cast<size_t>(param.level), index) << name;
      EXPECT_NEAR(std::pow(std::stod(decay), last - param.level), scales.values[index], 1e-12);
    }
  }
}

TEST(Schedule, FallsLinearlyToTheLeastRate) {
  TrainOptions options;
  options.schedule = "linear";
  options.lr = 1;
  options.min_lr = 0.2;
  options.warmup_lr = 0.1;
  options.warmup_epochs = 1;
  const Schedule schedule(options, 10, 100);
  EXPECT_EQ(schedule.warmup(), 10);
  EXPECT_DOUBLE_EQ(schedule.lr(10), 0.92);
  EXPECT_DOUBLE_EQ(schedule.lr(50), 0.6);
  EXPECT_DOUBLE_EQ(schedule.lr(100), 0.2);
  EXPECT_DOUBLE_EQ(schedule.lr(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.lr(5), 0.96 * 0.55);
}

TEST(Schedule, OfNoRateAtAllIsZero) {
  for (const char* kind : {"cosine", "linear", "steps"}) {
    TrainOptions options;
    options.schedule = kind;
    options.lr = options.min_lr = options.warmup_lr = 0;
    options.warmup_epochs = 1;
    const Schedule schedule(options, 10, 100);
    for (const int64_t step : {0, 5, 50}) EXPECT_EQ(schedule.lr(step), 0) << kind << " " << step;
  }
}

TEST(Schedule, DropsAtPartsOfEpochs) {
  TrainOptions options;
  options.schedule = "steps";
  options.lr = 1;
  options.lr_drops = "2.5,4";
  options.warmup_epochs = 0;
  const Schedule schedule(options, 10, 60);
  EXPECT_DOUBLE_EQ(schedule.lr(24), 1);
  EXPECT_DOUBLE_EQ(schedule.lr(25), 0.1);
  EXPECT_DOUBLE_EQ(schedule.lr(39), 0.1);
  EXPECT_NEAR(schedule.lr(40), 0.01, 1e-12);
}

TEST(Schedule, RefusesNames) {
  TrainOptions options;
  options.schedule = "exponential";
  expect_error(ErrorCode::kUsage, {"--schedule is 'exponential'", "cosine, linear or steps"},
               [&] { check_options(options); });
  options = {};
  options.lr_drops = "8,x";
  expect_error(ErrorCode::kUsage, {"--lr-drops is 'x'", "number"}, [&] { check_options(options); });
  options = {};
  options.task = "paint";
  expect_error(ErrorCode::kUsage, {"--task is 'paint'", "segment"},
               [&] { check_options(options); });
}

}  // namespace
}  // namespace vig::test
