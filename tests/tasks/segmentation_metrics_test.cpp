#include "vig/tasks/segmentation_metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "support/golden_tensors.h"
#include "vig/base/random.h"

namespace vig::test {
namespace {

LabelMap map_of(int width, const std::vector<int>& labels) {
  LabelMap map(width, static_cast<int>(labels.size()) / width);
  for (size_t i = 0; i < labels.size(); ++i) map.labels[i] = static_cast<uint8_t>(labels[i]);
  return map;
}

TEST(SegmentationMetrics, EqualTheOriginal) {
  const GoldenTensors golden("miou");
  SegmentationMetrics metrics(6);
  for (int i = 0; i < 4; ++i) {
    const GoldenTensor raw = golden.read("label_raw/" + std::to_string(i));
    const GoldenTensor prediction = golden.read("pred/" + std::to_string(i));
    std::vector<int> truth, predicted;
    for (const double label : raw.values) {
      truth.push_back(label == 0 || label == 255 ? kNoLabel : static_cast<int>(label) - 1);
    }
    for (const double label : prediction.values) predicted.push_back(static_cast<int>(label));
    const int width = static_cast<int>(raw.shape[1]);
    metrics.add(map_of(width, predicted), map_of(width, truth));
  }
  const auto summary = golden.read("summary").values;
  EXPECT_NEAR(metrics.pixel_accuracy(), summary[0], 1e-12);
  EXPECT_NEAR(metrics.mean_iou(), summary[1], 1e-12);
  EXPECT_NEAR(metrics.mean_accuracy(), summary[2], 1e-12);
  const auto iou = golden.read("iou").values, accuracy = golden.read("acc").values;
  const auto both = golden.read("intersect").values, predicted = golden.read("pred_area").values;
  const auto labelled = golden.read("label_area").values;
  const auto confusion = golden.read("confusion").values;
  const std::vector<ClassOverlap> classes = metrics.per_class();
  const auto same = [](double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) < 1e-12;
  };
  for (size_t c = 0; c < 6; ++c) {
    EXPECT_EQ(static_cast<double>(classes[c].both), both[c]);
    EXPECT_EQ(static_cast<double>(classes[c].predicted), predicted[c]);
    EXPECT_EQ(static_cast<double>(classes[c].labelled), labelled[c]);
    EXPECT_TRUE(same(classes[c].iou(), iou[c])) << c;
    EXPECT_TRUE(same(classes[c].accuracy(), accuracy[c])) << c;
    for (size_t a = 0; a < 6; ++a) {
      EXPECT_EQ(static_cast<double>(metrics.confused(static_cast<int>(c), static_cast<int>(a))),
                confusion[c * 6 + a]);
    }
  }
  EXPECT_TRUE(std::isnan(classes[5].iou()));
  EXPECT_EQ(classes[4].iou(), 0.0);
}

TEST(SegmentationMetrics, ByHand) {
  SegmentationMetrics metrics(3);
  metrics.add(map_of(2, {0, 0, 0, 0}), map_of(2, {0, 0, 1, 1}));
  EXPECT_EQ(metrics.per_class()[0].iou(), 0.5);
  EXPECT_EQ(metrics.per_class()[1].iou(), 0.0);
  EXPECT_TRUE(std::isnan(metrics.per_class()[2].iou()));
  EXPECT_EQ(metrics.mean_iou(), 0.25);
  EXPECT_EQ(metrics.pixel_accuracy(), 0.5);
  EXPECT_EQ(metrics.mean_accuracy(), 0.5);
  EXPECT_EQ(metrics.images(), 1);

  SegmentationMetrics perfect(2);
  perfect.add(map_of(2, {0, 1}), map_of(2, {0, 1}));
  EXPECT_EQ(perfect.mean_iou(), 1.0);
}

TEST(SegmentationMetrics, PixelsWithoutLabelDoNotCount) {
  SegmentationMetrics metrics(2);
  metrics.add(map_of(4, {0, 1, 1, 0}), map_of(4, {0, kNoLabel, kNoLabel, kNoLabel}));
  EXPECT_EQ(metrics.pixels(), 1);
  EXPECT_EQ(metrics.mean_iou(), 1.0);
  SegmentationMetrics nothing(2);
  nothing.add(map_of(2, {0, 1}), map_of(2, {kNoLabel, kNoLabel}));
  EXPECT_TRUE(std::isnan(nothing.mean_iou()));
  EXPECT_TRUE(std::isnan(nothing.pixel_accuracy()));
}

TEST(SegmentationMetrics, PartsAddUp) {
  constexpr int kClasses = 5;
  RandomStream stream(3);
  std::vector<int> prediction, truth;
  for (int i = 0; i < 600; ++i) {
    prediction.push_back(static_cast<int>(stream.below(kClasses)));
    truth.push_back(stream.chance(0.2) ? kNoLabel : static_cast<int>(stream.below(kClasses)));
  }
  SegmentationMetrics whole(kClasses), first(kClasses), second(kClasses);
  whole.add(map_of(20, prediction), map_of(20, truth));
  const auto cut = [](const std::vector<int>& all, int from, int to) {
    return map_of(20, {all.begin() + from, all.begin() + to});
  };
  first.add(cut(prediction, 0, 200), cut(truth, 0, 200));
  second.add(cut(prediction, 200, 600), cut(truth, 200, 600));
  std::vector<double> sums = first.sums();
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += second.sums()[i];
  first.merge(second);
  EXPECT_EQ(first.mean_iou(), whole.mean_iou());
  EXPECT_EQ(first.per_class(), whole.per_class());
  SegmentationMetrics summed(kClasses);
  summed.set_sums(sums);
  EXPECT_EQ(summed, first);
  EXPECT_NE(first, whole);  // two images
}

TEST(SegmentationMetrics, RefusesWhatCannotCount) {
  SegmentationMetrics metrics(2);
  expect_error(ErrorCode::kInput, {"2x1", "1x2"}, [&] {
    metrics.add(map_of(2, {0, 0}), map_of(1, {0, 0}));
  });
  expect_error(ErrorCode::kInput, {"labelled 2"}, [&] {
    metrics.add(map_of(2, {0, 0}), map_of(2, {0, 2}));
  });
  expect_error(ErrorCode::kInput, {"predicted 255"}, [&] {
    metrics.add(map_of(2, {0, 255}), map_of(2, {0, 1}));
  });
  EXPECT_EQ(metrics, SegmentationMetrics(2));
  expect_error(ErrorCode::kUsage, {"256"}, [] { SegmentationMetrics(256); });
  expect_error(ErrorCode::kUsage, {"0 classes"}, [] { SegmentationMetrics(0); });
  EXPECT_EQ(SegmentationMetrics(255).per_class().size(), 255u);
  for (const auto& [label, prediction] : {std::pair{2, 0}, {0, 2}, {-1, 0}, {0, -1}}) {
    expect_error(ErrorCode::kUsage, {"of 2 classes"},
                 [&, l = label, a = prediction] { metrics.confused(l, a); });
  }
  for (const size_t count : {4u, 6u}) {  // the images and four pairs are five
    expect_error(ErrorCode::kUsage, {fmt::format("{} sums for 2 classes", count)},
                 [&] { metrics.set_sums(std::vector<double>(count)); });
  }
  expect_error(ErrorCode::kUsage, {"3"}, [&] { metrics.merge(SegmentationMetrics(3)); });
}

}  // namespace
}  // namespace vig::test
