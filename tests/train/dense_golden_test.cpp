// Losses and gradients of the miniatures of dense prediction, with the recorded samples.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/golden_tensors.h"
#include "train/golden_values.h"
#include "vig/train/tasks/detector_pass.h"
#include "vig/train/tasks/pixel_loss.h"
#include "vig/train/tasks/segmentation.h"

namespace vig::test {
namespace {

using train::BatchStatistics;
using train::ForwardOptions;
using train::SampledImage;
using train::TrainedModel;

constexpr double kLossTolerance = 1e-5;      // relative
constexpr double kGradientTolerance = 5e-4;  // of the largest value

std::vector<int64_t> indices_of(const GoldenTensor& golden) {
  return {golden.values.begin(), golden.values.end()};
}

at::Tensor images_of(const GoldenTensor& golden) {
  return tensor_of(golden).permute({0, 2, 3, 1}).contiguous();
}

// Boxes in the first four of `columns` columns.
std::vector<Box> boxes_of(const GoldenTensor& golden) {
  const auto columns = static_cast<size_t>(golden.shape[1]);
  std::vector<Box> boxes;
  for (size_t i = 0; i < golden.values.size(); i += columns) {
    const auto at = [&](size_t k) { return static_cast<float>(golden.values[i + k]); };
    boxes.push_back({at(0), at(1), at(2), at(3)});
  }
  return boxes;
}

TrainedModel make_model(const GoldenTensors& golden, const char* name, int height, int width) {
  train::ModelPlan plan;
  plan.spec = find_model(name);
  plan.source.spec = plan.spec;
  for (int i = 0; i < model_classes(plan.spec); ++i) plan.classes.push_back(std::to_string(i));
  TrainedModel model = train::make_trained_model({}, plan, height, width);
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < model.parameters.size(); ++i) {
    model.parameters[i].copy_(tensor_of(golden.read("param/" + model.parameters.spec(i).name)));
  }
  return model;
}

class DenseGolden : public testing::TestWithParam<bool> {
 protected:
  void expect_gradients(TrainedModel& model, const GoldenTensors& golden) {
    int compared = 0;
    double worst = 0;
    for (size_t i = 0; i < model.parameters.size(); ++i) {
      const std::string name = "grad/" + model.parameters.spec(i).name;
      if (!golden.contains(name)) continue;
      const at::Tensor expected = tensor_of(golden.read(name));
      const double difference = (model.parameters[i].grad() - expected).abs().max().item<double>() /
                                expected.abs().max().item<double>();
      EXPECT_LE(difference, kGradientTolerance) << name;
      worst = std::max(worst, difference);
      ++compared;
    }
    EXPECT_GE(compared, 12);
    const double norm = golden.read("train/grad_norm").values[0];
    EXPECT_NEAR(model.parameters.gradients().norm().item<double>(), norm, 1e-4 * norm);
    RecordProperty("largest_gradient_difference", std::to_string(worst));
  }
  static void expect_loss(const at::Tensor& loss, const GoldenTensors& golden,
                          const std::string& name) {
    const double expected = golden.read("train/" + name).values[0];
    EXPECT_NEAR(loss.item<double>(), expected, kLossTolerance * expected) << name;
  }
};

TEST_P(DenseGolden, SegmentationLearns) {
  const GoldenTensors golden("upernet-mini");
  TrainedModel model = make_model(golden, "test_vig_upernet", 64, 64);
  BatchStatistics statistics(2);
  ForwardOptions options;
  options.kernels = GetParam();
  options.statistics = &statistics;
  const train::HeadLogits logits = train::segmentation_logits(
      model, model.parameters.views(), images_of(golden.read("train/input")), options);
  const at::Tensor labels = tensor_of(golden.read("train/label")).to(at::kByte);
  const at::Tensor main = train::pixel_cross_entropy(logits.main, labels).loss;
  const at::Tensor auxiliary =
      train::kAuxiliaryWeight * train::pixel_cross_entropy(logits.auxiliary, labels).loss;
  expect_loss(main, golden, "loss_decode");
  expect_loss(auxiliary, golden, "loss_aux");
  (main + auxiliary).backward();
  expect_gradients(model, golden);

  const std::vector<double> sums = train::statistic_sums(model.graphs, {&statistics, 1});
  train::move_running_statistics(model.graphs, sums, model.parameters);
  for (const char* which : {"mean", "var"}) {
    const std::string name = std::string("backbone.norm1.running_") + which;
    const at::Tensor expected =
        tensor_of(golden.read(std::string("train/running_") + which + "_norm1_after"));
    for (size_t i = 0; i < model.parameters.size(); ++i) {
      if (model.parameters.spec(i).name != name) continue;
      EXPECT_LE((model.parameters[i] - expected).abs().max().item<double>(),
                1e-5 * expected.abs().max().item<double>())
          << name;
    }
  }
}

TEST_P(DenseGolden, DetectionLearns) {
  const GoldenTensors golden("maskrcnn-mini");
  const GoldenTensor input = golden.read("input");
  const int height = static_cast<int>(input.shape[2]), width = static_cast<int>(input.shape[3]);
  TrainedModel model = make_model(golden, "test_vig_maskrcnn", height, width);
  BatchStatistics statistics(2);
  ForwardOptions options;
  options.kernels = GetParam();
  options.statistics = &statistics;

  const train::DetectorPass pass(model, model.graph(), model.parameters.views(), options);
  const train::DetectorMaps maps = pass.maps(images_of(input));
  std::vector<PlacedObjects> truths(2);
  std::vector<SampledImage> anchors, boxes;
  std::vector<std::vector<Box>> lists;
  for (size_t p = 0; p < 2; ++p) {
    const auto name = [&](const char* text) { return std::string(text) + "." + std::to_string(p); };
    const std::vector<Box> objects = boxes_of(golden.read(name("gt/boxes")));
    const GoldenTensor masks = golden.read(name("gt/masks")),
                       labels = golden.read(name("gt/labels"));
    const size_t area = static_cast<size_t>(height) * static_cast<size_t>(width);
    for (size_t k = 0; k < objects.size(); ++k) {
      PlacedMask mask{{0, 0, width, height}, {}};
      const double* first = masks.values.data() + k * area;
      mask.pixels.assign(first, first + area);
      truths[p].objects.push_back({objects[k], static_cast<int>(labels.values[k]), mask});
    }
    // The recorded samples agree with our assignment.
    const std::vector<int> assigned = assign_boxes(pass.anchors(), objects, train::kProposalRule);
    train::Samples drawn;
    drawn.positive = indices_of(golden.read(name("train/rpn_pos")));
    drawn.negative = indices_of(golden.read(name("train/rpn_neg")));
    for (const int64_t index : drawn.positive) {
      ASSERT_GT(assigned[static_cast<size_t>(index)], 0);
      drawn.matched.push_back(assigned[static_cast<size_t>(index)] - 1);
    }
    for (const int64_t index : drawn.negative) {
      ASSERT_EQ(assigned[static_cast<size_t>(index)], 0);
    }
    anchors.push_back({&truths[p], drawn});

    const std::vector<Box> proposals = boxes_of(golden.read(name("train/proposals")));
    const std::vector<int> others = assign_boxes(proposals, objects, train::kBoxRule);
    drawn = {};
    drawn.positive = indices_of(golden.read(name("train/rcnn_pos")));
    drawn.negative = indices_of(golden.read(name("train/rcnn_neg")));
    for (const int64_t index : indices_of(golden.read(name("train/rcnn_pos_gt")))) {
      drawn.matched.push_back(static_cast<int>(index));
    }
    const auto own = static_cast<int64_t>(objects.size());
    for (size_t i = 0; i < drawn.positive.size(); ++i) {
      const int64_t index = drawn.positive[i];
      EXPECT_EQ(index < own ? index : others[static_cast<size_t>(index - own)] - 1,
                drawn.matched[i]);
    }
    for (const int64_t index : drawn.negative) {
      EXPECT_EQ(others[static_cast<size_t>(index - own)], 0);
    }
    boxes.push_back({&truths[p], drawn});
    std::vector<Box>& list = lists.emplace_back(objects);
    list.insert(list.end(), proposals.begin(), proposals.end());
  }
  const train::DetectionLosses losses = pass.losses(maps, anchors, lists, boxes);
  const char* names[] = {"loss_rpn_cls", "loss_rpn_bbox", "loss_cls", "loss_bbox", "loss_mask"};
  at::Tensor total = at::zeros({});
  for (size_t i = 0; i < losses.size(); ++i) {
    expect_loss(losses[i], golden, names[i]);
    total = total + losses[i];
  }
  total.backward();
  expect_gradients(model, golden);
}

INSTANTIATE_TEST_SUITE_P(BothWays, DenseGolden, testing::Bool(), [](const auto& test) {
  return test.param ? "Kernels" : "PlainOperations";
});

}  // namespace
}  // namespace vig::test
