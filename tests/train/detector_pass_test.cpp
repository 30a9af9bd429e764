#include "vig/train/tasks/detector_pass.h"

#include <gtest/gtest.h>

#include "train/dense_fixtures.h"

namespace vig::test {
namespace {

using train::TrainOptions;

// A cell belongs to an image of which it sees any pixel.
TEST(DetectorPass, AnchorsAreThoseOfTheImagesCells) {
  const TrainOptions options = tiny_detection();
  const train::ModelPlan plan = plan_model(options, {"rectangle", "disc"}, ModelTask::kDetect);
  const train::TrainedModel model = make_trained_model(options, plan, 128, 192);
  const std::vector<at::Tensor> values = model.parameters.views();
  const train::ForwardOptions forward;
  const train::DetectorPass pass(model, model.graph(), values, forward);
  for (const auto& [width, height] :
       {std::pair(192, 128), {96, 32}, {32, 96}, {160, 64}, {1, 1}, {65, 127}}) {
    std::vector<int64_t> expected;
    int64_t anchor = 0;
    for (const int stride : {4, 8, 16, 32, 64}) {
      for (int y = 0; y < 128; y += stride) {
        for (int x = 0; x < 192; x += stride) {
          for (int ratio = 0; ratio < 3; ++ratio, ++anchor) {
            if (x < width && y < height) expected.push_back(anchor);
          }
        }
      }
    }
    ASSERT_EQ(pass.anchors().size(), static_cast<size_t>(anchor));
    EXPECT_EQ(pass.anchors_inside(width, height), expected) << width << " x " << height;
  }
}

}  // namespace
}  // namespace vig::test
