// The losses of segmentation and detection: against golden tensors, and what must hold of any.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/golden_tensors.h"
#include "train/golden_values.h"
#include "vig/train/tasks/detection_losses.h"
#include "vig/train/tasks/pixel_loss.h"

namespace vig::test {
namespace {

using train::assign_boxes;
using train::AssignRule;
using train::Samples;

std::vector<Box> rows_of_boxes(const GoldenTensor& golden) {
  std::vector<Box> boxes;
  for (size_t i = 0; i + 3 < golden.values.size(); i += 4) {
    const auto at = [&](size_t k) { return static_cast<float>(golden.values[i + k]); };
    boxes.push_back({at(0), at(1), at(2), at(3)});
  }
  return boxes;
}

std::vector<int> ints_of(const GoldenTensor& golden) {
  return {golden.values.begin(), golden.values.end()};
}

TEST(Assignment, IsTheGoldenOne) {
  const GoldenTensors golden("assign");
  const std::vector<Box> objects = rows_of_boxes(golden.read("gt_boxes"));
  EXPECT_EQ(assign_boxes(rows_of_boxes(golden.read("rpn/boxes")), objects, train::kProposalRule),
            ints_of(golden.read("rpn/assigned")));
  EXPECT_EQ(assign_boxes(rows_of_boxes(golden.read("rcnn/boxes")), objects, train::kBoxRule),
            ints_of(golden.read("rcnn/assigned")));
  EXPECT_EQ(assign_boxes(std::vector<Box>(9, Box{0, 0, 4, 4}), {}, train::kProposalRule),
            ints_of(golden.read("empty/assigned")));
}

TEST(Assignment, GivesAnObjectAllOfItsBestBoxes) {
  // In the middle of two anchors, too far from both for the threshold.
  const std::vector<Box> anchors = {{0, 0, 10, 10}, {10, 0, 20, 10}, {40, 40, 50, 50}};
  const std::vector<Box> object = {{5, 0, 15, 10}};
  EXPECT_EQ(assign_boxes(anchors, object, train::kProposalRule), (std::vector<int>{1, 1, 0}));
  // With an IoU of 0.29 it has none.
  const std::vector<Box> small = {{0, 0, 10, 2.9f}};
  EXPECT_EQ(assign_boxes(anchors, small, train::kProposalRule), (std::vector<int>{0, 0, 0}));
  // A later object takes a box from an earlier one.
  const std::vector<Box> two = {{0, 0, 10, 10}, {0, 0, 10, 9}};
  EXPECT_EQ(assign_boxes(anchors, two, train::kProposalRule), (std::vector<int>{2, 0, 0}));
}

// IoUs of 0.7 and 0.3, to the bit; the first anchor is the best one of the object.
TEST(Assignment, LimitsBelongToTheBetterSide) {
  const std::vector<Box> object = {{0, 0, 10, 10}};
  const std::vector<Box> anchors = {
      {0, 0, 10, 10}, {0, 0, 10, 7}, {0, 0, 10, 6.9f}, {0, 0, 10, 3}, {0, 0, 10, 2.9f}};
  EXPECT_EQ(assign_boxes(anchors, object, train::kProposalRule),
            (std::vector<int>{1, 1, train::kIgnored, train::kIgnored, train::kBackground}));
  EXPECT_EQ(assign_boxes(std::vector<Box>{anchors[3]}, object, train::kProposalRule),
            std::vector<int>{1})
      << "as the best one";
  // Of two objects at the same position the last takes its best box, the first what is just good.
  const std::vector<Box> two = {object[0], object[0]};
  EXPECT_EQ(assign_boxes(std::span(anchors).first(2), two, train::kProposalRule),
            (std::vector<int>{2, 1}));
}

TEST(Sampling, FillsUpWithBackground) {
  std::vector<int> assigned(1000, train::kBackground);
  for (size_t i = 0; i < 40; ++i) assigned[25 * i] = static_cast<int>(i) + 1;
  for (size_t i = 0; i < 100; ++i) assigned[10 * i + 1] = train::kIgnored;
  const Samples samples = train::draw_samples(assigned, 64, 16, RandomStream(3));
  EXPECT_EQ(samples.positive.size(), 16u);
  EXPECT_EQ(samples.negative.size(), 48u);
  ASSERT_EQ(samples.matched.size(), 16u);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(samples.positive[i], 25 * samples.matched[i]);
  for (const int64_t index : samples.negative) {
    EXPECT_EQ(assigned[static_cast<size_t>(index)], train::kBackground);
  }
  for (const auto* indices : {&samples.positive, &samples.negative}) {
    EXPECT_TRUE(std::ranges::is_sorted(*indices));
    EXPECT_EQ(std::ranges::adjacent_find(*indices), indices->end());
  }
  // All positives where there are few, and another choice for another stream.
  const Samples more = train::draw_samples(assigned, 256, 128, RandomStream(3));
  EXPECT_EQ(more.positive.size(), 40u);
  EXPECT_EQ(more.negative.size(), 216u);
  EXPECT_NE(train::draw_samples(assigned, 64, 16, RandomStream(4)).negative, samples.negative);
  EXPECT_EQ(train::draw_samples(assigned, 64, 16, RandomStream(3)).negative, samples.negative);
  EXPECT_TRUE(train::draw_samples({}, 64, 16, RandomStream(3)).negative.empty());
}

TEST(MaskTarget, IsTheGoldenOne) {
  const GoldenTensors golden("mask-target");
  const std::vector<Box> boxes = rows_of_boxes(golden.read("boxes"));
  const std::vector<int> objects = ints_of(golden.read("gt_index"));
  const GoldenTensor masks = golden.read("masks"), soft = golden.read("soft");
  const GoldenTensor output = golden.read("output");
  const int height = static_cast<int>(masks.shape[1]), width = static_cast<int>(masks.shape[2]);
  const auto area = static_cast<size_t>(height) * static_cast<size_t>(width);
  double worst = 0;
  for (size_t i = 0; i < boxes.size(); ++i) {
    PlacedMask whole{{0, 0, width, height}, {}}, part;
    const auto* first = masks.values.data() + static_cast<size_t>(objects[i]) * area;
    whole.pixels.assign(first, first + area);
    // The same mask without the rows and columns around it that are empty.
    int left = width, right = 0, top = height, bottom = 0;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        if (!whole.at(x, y)) continue;
        left = std::min(left, x);
        right = std::max(right, x + 1);
        top = std::min(top, y);
        bottom = std::max(bottom, y + 1);
      }
    }
    part.part = {left, top, right - left, bottom - top};
    for (int y = top; y < bottom; ++y) {
      for (int x = left; x < right; ++x) part.pixels.push_back(whole.at(x, y) ? 1 : 0);
    }
    for (const PlacedMask* mask : {&whole, &part}) {
      const std::vector<float> found = train::soft_mask_target(*mask, boxes[i], height, width, 28);
      ASSERT_EQ(found.size(), 28u * 28u);
      for (size_t k = 0; k < found.size(); ++k) {
        const double expected = soft.values[i * 784 + k];
        worst = std::max(worst, std::abs(expected - static_cast<double>(found[k])));
        if (std::abs(expected - 0.5) > 1e-5) {
          EXPECT_EQ(found[k] >= 0.5f, output.values[i * 784 + k] != 0) << i << " " << k;
        }
      }
    }
  }
  EXPECT_LE(worst, 1e-5);
  RecordProperty("largest_difference", std::to_string(worst));
}

TEST(PixelLoss, IsTheGoldenOne) {
  const GoldenTensors golden("uperhead");
  const at::Tensor labels = tensor_of(golden.read("label")).to(at::kByte);
  const auto logits = [&](const char* name) {
    return tensor_of(golden.read(name)).permute({0, 2, 3, 1}).contiguous();
  };
  const auto scalar = [&](const char* name) { return golden.read(name).values[0]; };
  const train::PixelLoss main = train::pixel_cross_entropy(logits("output"), labels);
  EXPECT_NEAR(main.loss.item<double>(), scalar("loss_decode"), 1e-5 * scalar("loss_decode"));
  EXPECT_GT(std::abs(main.loss.item<double>() - scalar("loss_mean_over_valid")), 1e-3);
  const double auxiliary =
      0.4 * train::pixel_cross_entropy(logits("output_aux"), labels).loss.item<double>();
  EXPECT_NEAR(auxiliary, scalar("loss_aux"), 1e-5 * scalar("loss_aux"));
  double right = 0, labelled = 0;
  for (const train::PixelCounts& image : main.images) {
    right += image.right;
    labelled += image.labelled;
  }
  EXPECT_NEAR(100 * right / labelled, scalar("acc_decode"), 0.02);
}

TEST(PixelLoss, EqualsTheOneInPlainOperations) {
  for (const auto& [h, w, height, width] :
       {std::array<int64_t, 4>{3, 5, 12, 20}, {4, 4, 4, 4}, {1, 7, 9, 23}, {8, 6, 5, 4}}) {
    at::Tensor logits = at::randn({2, h, w, 6}, at::kFloat).mul_(3).requires_grad_();
    at::Tensor same = logits.detach().clone().requires_grad_();
    at::Tensor labels = at::randint(6, {2, height, width}, at::kLong).to(at::kByte);
    labels.masked_fill_(at::rand({2, height, width}) < 0.3, 255);
    const at::Tensor loss = train::pixel_cross_entropy(logits, labels).loss;
    const at::Tensor expected = train::plain_pixel_cross_entropy(same, labels);
    EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-5 * expected.item<double>());
    (loss * 3).backward();
    (expected * 3).backward();
    const double largest = same.grad().abs().max().item<double>();
    EXPECT_LE((logits.grad() - same.grad()).abs().max().item<double>(), 1e-5 * largest);
  }
}

TEST(PixelLoss, CountsPixelsWithoutALabel) {
  const at::Tensor logits = at::randn({1, 4, 4, 3}, at::kFloat);
  at::Tensor labels = at::randint(3, {1, 16, 16}, at::kLong).to(at::kByte);
  // Rows of the resized logits repeat where the logits are the same in every row.
  const at::Tensor rows = logits.narrow(1, 0, 1).expand({1, 4, 4, 3}).contiguous();
  labels.narrow(1, 8, 8).copy_(labels.narrow(1, 0, 8).clone());
  const double all = train::pixel_cross_entropy(rows, labels).loss.item<double>();
  labels.narrow(1, 8, 8).fill_(255);
  const double half = train::pixel_cross_entropy(rows, labels).loss.item<double>();
  EXPECT_NEAR(half, all / 2, 1e-6 * all);
  labels.fill_(255);
  EXPECT_EQ(train::pixel_cross_entropy(rows, labels).loss.item<double>(), 0);
}

// One image with one object, by hand.
TEST(DetectionLosses, AreTheFormulas) {
  PlacedObjects truth;
  truth.width = truth.height = 32;
  truth.objects.push_back({{8, 8, 24, 24}, 1, {}});
  const std::vector<Box> anchors = {{8, 8, 24, 24}, {0, 0, 16, 16}, {16, 16, 32, 32}};
  const std::vector<train::SampledImage> images = {{&truth, {{0}, {1, 2}, {0}}}};
  const at::Tensor logits = at::tensor({2.0f, -1.0f, 0.0f}).view({1, 3});
  const at::Tensor deltas = at::full({1, 3, 4}, 0.25f);
  const auto [classes, boxes] =
      train::proposal_losses(logits, deltas, anchors, images, {1, 1, 1, 1});
  const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
  EXPECT_NEAR(classes.item<double>(), (softplus(-2) + softplus(-1) + softplus(0)) / 3, 1e-6);
  EXPECT_NEAR(boxes.item<double>(), 4 * 0.25 / 3, 1e-6);

  // Where an image has none of one kind, it counts as having one.
  const std::vector<train::SampledImage> background = {{&truth, {{}, {1, 2}, {}}}};
  const auto [none, unmoved] =
      train::proposal_losses(logits, deltas, anchors, background, {1, 1, 1, 1});
  EXPECT_NEAR(none.item<double>(), (softplus(-1) + softplus(0)) / 3, 1e-6);
  EXPECT_EQ(unmoved.item<double>(), 0);
  const std::vector<train::SampledImage> object = {{&truth, {{0}, {}, {0}}}};
  const auto [alone, moved_alone] =
      train::proposal_losses(logits, deltas, anchors, object, {1, 1, 1, 1});
  EXPECT_NEAR(alone.item<double>(), softplus(-2) / 2, 1e-6);
  EXPECT_NEAR(moved_alone.item<double>(), 4 * 0.25 / 2, 1e-6);

  const std::vector<std::vector<Box>> lists = {anchors};
  const train::BoxSamples samples = train::gather_samples(lists, images, 2);
  EXPECT_EQ(samples.labels, (std::vector<int64_t>{1, 2, 2}));
  EXPECT_EQ(samples.positive_rois().size(0), 1);
  // Deltas of class 0, which is not the object's, count nothing.
  at::Tensor moves = at::full({3, 8}, 100.0f);
  moves[0].narrow(0, 4, 4).fill_(-0.5f);
  const auto [scores, moved] =
      train::box_losses(at::zeros({3, 3}), moves, samples, {0.1f, 0.1f, 0.2f, 0.2f});
  EXPECT_NEAR(scores.item<double>(), std::log(3.0), 1e-6);
  EXPECT_NEAR(moved.item<double>(), 4 * 0.5 / 3, 1e-6);

  // Without a mask there is no loss, but a gradient of zeros.
  at::Tensor maps = at::zeros({1, 28, 28, 2}).requires_grad_();
  at::Tensor mask = train::mask_loss(maps, train::mask_targets(samples, 32, 32, 28), samples);
  EXPECT_EQ(mask.item<double>(), 0);
  mask.backward();
  EXPECT_EQ(maps.grad().abs().max().item<double>(), 0);
  truth.objects[0].mask = {{8, 8, 16, 16}, std::vector<uint8_t>(256, 1)};
  const at::Tensor targets = train::mask_targets(samples, 32, 32, 28);
  EXPECT_EQ(targets.sum().item<double>(), 784);
  mask = train::mask_loss(maps, targets, samples);
  EXPECT_NEAR(mask.item<double>(), std::log(2.0), 1e-6);
}

// Of two objects the second has a mask: its own map counts alone, against its own target.
TEST(DetectionLosses, ObjectsWithoutAMaskDoNotCount) {
  PlacedObjects truth;
  truth.width = truth.height = 32;
  truth.objects.push_back({{0, 0, 8, 8}, 0, {}});
  truth.objects.push_back({{8, 8, 24, 24}, 1, {{8, 8, 16, 16}, std::vector<uint8_t>(256, 1)}});
  const std::vector<std::vector<Box>> lists = {{{0, 0, 8, 8}, {8, 8, 24, 24}}};
  const std::vector<train::SampledImage> images = {{&truth, {{0, 1}, {}, {0, 1}}}};
  const train::BoxSamples samples = train::gather_samples(lists, images, 2);
  const at::Tensor targets = train::mask_targets(samples, 32, 32, 4);
  EXPECT_EQ(targets[0].sum().item<double>(), 0);
  EXPECT_EQ(targets[1].sum().item<double>(), 16);
  at::Tensor logits = at::full({2, 4, 4, 2}, 50.0f);
  logits[1].select(2, 1).fill_(2);
  EXPECT_NEAR(train::mask_loss(logits, targets, samples).item<double>(), std::log1p(std::exp(-2.0)),
              1e-6);
}

}  // namespace
}  // namespace vig::test
