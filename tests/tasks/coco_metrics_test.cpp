#include "vig/tasks/coco_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/errors.h"
#include "support/golden_tensors.h"
#include "vig/base/random.h"

namespace vig::test {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

struct Scene {
  int64_t image = 0;
  std::vector<CocoTruth> truths;
  std::vector<CocoDetection> detections;
};

CocoTruth truth(const CocoBox& box, int label = 0, bool crowd = false) {
  return {.box = box, .label = label, .crowd = crowd, .area = box.width * box.height};
}
CocoDetection detection(const CocoBox& box, double score, int label = 0) {
  return {.box = box, .label = label, .score = score};
}

CocoMetrics measure(const std::vector<Scene>& scenes, int classes = 1,
                    CocoShape shape = CocoShape::kBox,
                    const CocoMetrics::Limits& limits = {1, 10, 100}) {
  CocoMetrics metrics(classes, shape, limits);
  for (const Scene& scene : scenes) metrics.add(scene.image, scene.truths, scene.detections);
  return metrics;
}

// The golden file gives -1 where there is nothing to find.
void expect_close(double found, double want, double tolerance, const std::string& what) {
  if (want == -1) {
    EXPECT_TRUE(std::isnan(found)) << what;
  } else {
    EXPECT_NEAR(found, want, tolerance) << what;
  }
}

std::vector<Scene> golden_scenes(const GoldenTensors& golden) {
  const std::vector<double> images = {1, 2, 3, 5, 8, 13}, categories = {1, 3, 7, 90};
  std::vector<Scene> scenes;
  for (const double image : images) scenes.push_back({static_cast<int64_t>(image), {}, {}});
  const auto index_of = [](const std::vector<double>& all, double value) {
    return static_cast<size_t>(std::ranges::find(all, value) - all.begin());
  };
  for (const std::string kind : {"gt", "dt"}) {
    const auto image = golden.read(kind + "/image_id").values;
    const auto category = golden.read(kind + "/category_id").values;
    const auto box = golden.read(kind + "/bbox_xywh").values;
    const auto counts = golden.read(kind + "/rle_counts").values;
    const auto offsets = golden.read(kind + "/rle_offsets").values;
    for (size_t i = 0; i < image.size(); ++i) {
      Scene& scene = scenes[index_of(images, image[i])];
      const CocoBox where(box[4 * i], box[4 * i + 1], box[4 * i + 2], box[4 * i + 3]);
      const int label = static_cast<int>(index_of(categories, category[i]));
      Mask mask{200, 150, {}};
      for (double at = offsets[i]; at < offsets[i + 1]; ++at) {
        mask.runs.push_back(static_cast<uint32_t>(counts[static_cast<size_t>(at)]));
      }
      if (kind == "gt") {
        const bool crowd = golden.read("gt/iscrowd").values[i] != 0;
        const double area = golden.read("gt/area").values[i];
        scene.truths.push_back({where, label, crowd, area, mask});
      } else {
        scene.detections.push_back({where, label, golden.read("dt/score").values[i], mask});
      }
    }
  }
  return scenes;
}

TEST(CocoMetrics, EqualTheOriginal) {
  const GoldenTensors golden("coco-ap");
  const std::vector<Scene> scenes = golden_scenes(golden);
  for (const auto& [name, shape] : std::vector<std::pair<std::string, CocoShape>>{
           {"bbox", CocoShape::kBox}, {"segm", CocoShape::kMask}}) {
    const CocoMetrics metrics = measure(scenes, 4, shape);
    const auto stats = golden.read(name + "/stats").values;
    const std::array<double, 12> figures = metrics.figures().all();
    for (size_t i = 0; i < 12; ++i) {
      expect_close(figures[i], stats[i], 1e-12, name + std::to_string(i));
    }
    const auto wide = golden.read(name + "/stats_100_300_1000").values;
    const std::array<double, 12> more = measure(scenes, 4, shape, {100, 300, 1000}).figures().all();
    for (size_t i = 0; i < 12; ++i) expect_close(more[i], wide[i], 1e-12, name + std::to_string(i));

    const auto precision = golden.read(name + "/precision").values;  // [10, 101, 4]
    const auto recall = golden.read(name + "/recall").values;        // [10, 4, 4, 3]
    for (int t = 0; t < kCocoThresholds; ++t) {
      for (int label = 0; label < 4; ++label) {
        const auto curve = metrics.precision(t, label);
        for (int r = 0; r < kCocoRecalls; ++r) {
          expect_close(curve[static_cast<size_t>(r)],
                       precision[static_cast<size_t>((t * kCocoRecalls + r) * 4 + label)], 1e-12,
                       "precision");
        }
        for (int area = 0; area < 4; ++area) {
          for (int limit = 0; limit < 3; ++limit) {
            expect_close(metrics.recall(t, label, static_cast<CocoArea>(area), limit),
                         recall[static_cast<size_t>(((t * 4 + label) * 4 + area) * 3 + limit)],
                         1e-12, "recall");
          }
        }
      }
    }
  }
}

// AP, AP50 and AP75 of the original evaluator.
TEST(CocoMetrics, CasesOfTheOriginal) {
  const CocoBox box(20, 30, 100, 100), other(300, 30, 100, 100), far(600, 600, 100, 100);
  const auto check = [](const std::vector<CocoTruth>& truths,
                        const std::vector<CocoDetection>& detections, double ap, double ap50,
                        double ap75) {
    const CocoFigures figures = measure({{1, truths, detections}}).figures();
    EXPECT_NEAR(figures.ap, ap, 1e-9);
    EXPECT_NEAR(figures.ap50, ap50, 1e-9);
    EXPECT_NEAR(figures.ap75, ap75, 1e-9);
    return figures;
  };
  check({truth(box)}, {detection(box, 0.5)}, 1, 1, 1);
  check({truth(box)}, {detection(box, 0.5), detection(far, 0.9)}, 0.5, 0.5, 0.5);
  check({truth(box), truth(other)}, {detection(box, 0.5)}, 51 / 101.0, 51 / 101.0, 51 / 101.0);
  check({truth(box)}, {detection({20, 30, 100, 72}, 0.5)}, 0.5, 1, 0);
  check({truth({0, 0, 10, 10})}, {detection({0, 0, 10, 5}, 0.5)}, 0.1, 1, 0);
  const double four = (26 + 25 * 2 / 3.0) / 101;
  check({truth(box), truth(other), truth({20, 300, 50, 50}), truth({300, 300, 50, 50})},
        {detection(box, 0.9), detection(far, 0.8), detection(other, 0.7)}, four, four, four);
  check({truth(box)}, {detection(box, 0.9), detection(box, 0.8)}, 1, 1, 1);
  const CocoBox crowd(400, 400, 300, 300);
  check({truth(box), truth(crowd, 0, true)},
        {detection(box, 0.3), detection({410, 410, 20, 20}, 0.7),
         detection({500, 500, 30, 30}, 0.8), detection({600, 600, 40, 40}, 0.9)},
        1, 1, 1);
  const CocoFigures sized =
      check({truth({0, 0, 200, 200})},
            {detection({0, 0, 200, 200}, 0.9), detection({400, 0, 10, 10}, 0.95)}, 0.5, 0.5, 0.5);
  EXPECT_NEAR(sized.ap_large, 1, 1e-9);
  EXPECT_TRUE(std::isnan(sized.ap_small));
}

TEST(CocoMetrics, MasksCountPixels) {
  const auto rectangle = [](int x, int y, int w, int h) {
    std::vector<uint8_t> pixels(60 * 50);
    for (int row = y; row < y + h; ++row) {
      for (int column = x; column < x + w; ++column)
        pixels[static_cast<size_t>(row * 60 + column)] = 1;
    }
    return encode_mask(pixels, 60, 50);
  };
  CocoTruth object = truth({0, 0, 60, 50});
  object.mask = rectangle(5, 5, 10, 10);
  object.area = 100;
  CocoDetection found = detection({0, 0, 60, 50}, 0.5);
  found.mask = rectangle(5, 5, 10, 8);
  const CocoFigures figures = measure({{1, {object}, {found}}}, 1, CocoShape::kMask).figures();
  EXPECT_NEAR(figures.ap, 0.7, 1e-9);  // IoU 0.8: 0.5 to 0.8
  EXPECT_NEAR(figures.ap_small, 0.7, 1e-9);
  EXPECT_TRUE(std::isnan(figures.ap_large));  // the box is large, but does not count
  EXPECT_NEAR(measure({{1, {object}, {found}}}).figures().ap, 1, 1e-9);
  // An object that has only a box cannot be found by its mask.
  CocoTruth bare = object;
  bare.mask = {};
  EXPECT_EQ(measure({{1, {bare}, {found}}}, 1, CocoShape::kMask).figures().ap, 0);
}

std::vector<Scene> random_scenes(uint64_t seed) {
  RandomStream stream(seed);
  const auto random_box = [&] {
    return CocoBox(stream.uniform(0, 200), stream.uniform(0, 200), stream.uniform(5, 120),
                   stream.uniform(5, 120));
  };
  std::vector<Scene> scenes;
  for (int64_t image = 0; image < 8; ++image) {
    Scene scene{image * 3, {}, {}};
    for (int64_t i = 0; i < 6; ++i) {
      scene.truths.push_back(
          truth(random_box(), static_cast<int>(stream.below(3)), stream.chance(0.15)));
      CocoBox near = scene.truths.back().box;
      near.x += stream.uniform(-8, 8);
      near.width *= stream.uniform(0.7f, 1.3f);
      scene.detections.push_back(detection(near, stream.uniform(), scene.truths.back().label));
      scene.detections.push_back(
          detection(random_box(), stream.uniform(), static_cast<int>(stream.below(3))));
    }
    scenes.push_back(scene);
  }
  return scenes;
}

void expect_equal(const CocoMetrics& a, const CocoMetrics& b) {
  const auto x = a.figures().all(), y = b.figures().all();
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_TRUE(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])))
        << i << " " << x[i] << " " << y[i];
  }
  EXPECT_EQ(a.packed(), b.packed());
}

TEST(CocoMetrics, OrderOfImagesAndScaleOfScoresDoNotMatter) {
  std::vector<Scene> scenes = random_scenes(1);
  const CocoMetrics metrics = measure(scenes, 3);
  EXPECT_GT(metrics.figures().ap, 0.05);
  EXPECT_LT(metrics.figures().ap, 0.95);
  std::ranges::reverse(scenes);
  expect_equal(measure(scenes, 3), metrics);
  for (Scene& scene : scenes) {
    for (CocoDetection& a : scene.detections) a.score = std::log(a.score) * 7 + 3;
  }
  EXPECT_EQ(measure(scenes, 3).figures().all()[0], metrics.figures().all()[0]);
}

TEST(CocoMetrics, WorseDetectionsAfterFullRecallDoNotMatter) {
  const CocoBox box(20, 30, 100, 100);
  const std::vector<Scene> few = {{1, {truth(box)}, {detection(box, 0.9)}}};
  std::vector<Scene> more = few;
  more[0].detections.push_back(detection({300, 300, 40, 40}, 0.1));
  EXPECT_EQ(measure(few).figures().ap, measure(more).figures().ap);
}

TEST(CocoMetrics, PartsOfSeveralProcessesAddUp) {
  const std::vector<Scene> scenes = random_scenes(2);
  const CocoMetrics whole = measure(scenes, 3);
  const CocoMetrics first = measure({scenes.begin(), scenes.begin() + 5}, 3);
  const CocoMetrics second = measure({scenes.begin() + 3, scenes.end()}, 3);  // two in both
  CocoMetrics merged = second, packed(3, CocoShape::kBox);
  merged.merge(first);
  expect_equal(merged, whole);
  packed.merge_packed(second.packed());
  packed.merge_packed(first.packed());
  expect_equal(packed, whole);
  EXPECT_EQ(packed.images(), scenes.size());
}

TEST(CocoMetrics, EqualScoresGoByImageAndOrder) {
  const CocoBox box(0, 0, 50, 50), other(100, 100, 50, 50);
  // One is right, one is wrong, both have the same score: the first of the two decides.
  const std::vector<CocoTruth> object = {truth(box)};
  EXPECT_NEAR(measure({{1, object, {detection(box, 0.5), detection(other, 0.5)}}}).figures().ap, 1,
              1e-9);
  EXPECT_NEAR(measure({{1, object, {detection(other, 0.5), detection(box, 0.5)}}}).figures().ap,
              0.5, 1e-9);
  EXPECT_NEAR(
      measure({{1, object, {detection(box, 0.5)}}, {2, {}, {detection(other, 0.5)}}}).figures().ap,
      1, 1e-9);
  EXPECT_NEAR(
      measure({{2, object, {detection(box, 0.5)}}, {1, {}, {detection(other, 0.5)}}}).figures().ap,
      0.5, 1e-9);
}

TEST(CocoMetrics, ClassesWithoutObjectsAreLeftOut) {
  const CocoBox box(0, 0, 50, 50);
  const CocoMetrics metrics =
      measure({{1, {truth(box, 1)}, {detection(box, 0.5, 1), detection(box, 0.9, 0)}}}, 3);
  EXPECT_NEAR(metrics.figures().ap, 1, 1e-9);
  const std::vector<double> ap = metrics.class_ap();
  EXPECT_TRUE(std::isnan(ap[0]) && std::isnan(ap[2]));
  EXPECT_NEAR(ap[1], 1, 1e-9);
  EXPECT_TRUE(std::isnan(CocoMetrics(2, CocoShape::kBox).figures().ap));
  EXPECT_EQ(metrics.positives(1), 1);
  EXPECT_EQ(metrics.positives(1, CocoArea::kSmall), 0);
}

TEST(CocoMetrics, AtMostSoManyDetections) {
  const CocoBox box(0, 0, 50, 50);
  Scene scene{1, {truth(box)}, {}};
  for (int i = 0; i < 100; ++i) scene.detections.push_back(detection({200.0 + i, 200, 9, 9}, 0.9));
  scene.detections.push_back(detection(box, 0.1));  // the 101st
  EXPECT_EQ(measure({scene}).figures().ap, 0);
  scene.detections.erase(scene.detections.begin());
  EXPECT_GT(measure({scene}).figures().ap, 0);
  EXPECT_EQ(measure({scene}).figures().ar_third, 1);
  EXPECT_EQ(measure({scene}).figures().ar_second, 0);
}

// AP, of one class and of all, allows 100 detections where that is one of the limits; AP50 as many
// as the largest limit does.
TEST(CocoMetrics, WiderLimitsLeaveAverageLimits) {
  const CocoBox box(0, 0, 50, 50);
  Scene scene{1, {truth(box)}, {}};
  for (int i = 0; i < 100; ++i) scene.detections.push_back(detection({200.0 + i, 200, 9, 9}, 0.9));
  scene.detections.push_back(detection(box, 0.1));  // the 101st
  const CocoMetrics metrics = measure({scene}, 1, CocoShape::kBox, {100, 300, 1000});
  EXPECT_EQ(metrics.figures().ap, 0);
  EXPECT_EQ(metrics.class_ap(), std::vector<double>{0});
  EXPECT_NEAR(metrics.figures().ap50, 1 / 101.0, 1e-9);
  EXPECT_EQ(metrics.figures().ar_first, 0);
  EXPECT_EQ(metrics.figures().ar_second, 1);
}

// Of the ranges of areas both ends belong to them.
TEST(CocoMetrics, AreasAtTheEndsOfRangesAreInBoth) {
  const auto ranges = [](double area) {
    CocoTruth object = truth({0, 0, 50, 50});
    object.area = area;
    const CocoMetrics metrics = measure({{1, {object}, {}}});
    std::string found;
    for (int range = 0; range < kCocoAreas; ++range) {
      if (metrics.positives(0, static_cast<CocoArea>(range)) > 0) found += "asml"[range];
    }
    return found;
  };
  EXPECT_EQ(ranges(0), "as");
  EXPECT_EQ(ranges(1023.9), "as");
  EXPECT_EQ(ranges(1024), "asm");
  EXPECT_EQ(ranges(1024.1), "am");
  EXPECT_EQ(ranges(9216), "aml");
  EXPECT_EQ(ranges(9216.1), "al");
  EXPECT_EQ(ranges(1e10), "al");
  EXPECT_EQ(ranges(1.1e10), "");
}

TEST(CocoMetrics, MetricsOfDifferentKindsDoNotAddUp) {
  CocoMetrics metrics(2, CocoShape::kMask);
  for (const CocoMetrics& other :
       {CocoMetrics(3, CocoShape::kMask), CocoMetrics(2, CocoShape::kBox),
        CocoMetrics(2, CocoShape::kMask, {2, 10, 100}),
        CocoMetrics(2, CocoShape::kMask, {1, 11, 100}),
        CocoMetrics(2, CocoShape::kMask, {1, 10, 101})}) {
    expect_error(ErrorCode::kUsage, {"do not add up"}, [&] { metrics.merge(other); });
    expect_error(ErrorCode::kUsage, {"do not add up"},
                 [&] { metrics.merge_packed(other.packed()); });
  }
  expect_error(ErrorCode::kUsage, {"0 classes"}, [] { CocoMetrics(0, CocoShape::kBox); });
  for (const CocoMetrics::Limits& limits :
       std::vector<CocoMetrics::Limits>{{0, 10, 100}, {11, 10, 100}, {1, 101, 100}}) {
    expect_error(ErrorCode::kUsage, {"expected ascending ones"},
                 [&] { CocoMetrics(1, CocoShape::kBox, limits); });
  }
  for (const int label : {-1, 2}) {
    expect_error(ErrorCode::kUsage, {"is asked for of 2"}, [&] { metrics.precision(0, label); });
  }
}

TEST(CocoMetrics, RefusesWhatCannotCount) {
  const CocoBox box(0, 0, 50, 50);
  CocoMetrics metrics(2, CocoShape::kMask);
  const auto refused = [&](const std::string& word, const std::vector<CocoTruth>& truths,
                           const std::vector<CocoDetection>& detections) {
    expect_error(ErrorCode::kInput, {word}, [&] { metrics.add(1, truths, detections); });
    EXPECT_EQ(metrics.images(), 0u);
  };
  refused("class 2", {truth(box, 2)}, {});
  refused("class -1", {}, {detection(box, 0.5, -1)});
  refused("score", {}, {detection(box, kNothing)});
  refused("box", {truth({0, kNothing, 1, 1})}, {});
  CocoTruth endless = truth(box);
  endless.area = std::numeric_limits<double>::infinity();
  refused("area", {endless}, {});
  constexpr int64_t kMost = int64_t{1} << 53;  // packed, it is a double
  for (const int64_t image : {kMost + 2, -kMost - 2}) {
    expect_error(ErrorCode::kInput, {"at most 2^53"}, [&] { metrics.add(image, {}, {}); });
  }
  CocoTruth masked = truth(box);
  masked.mask = Mask{2, 3, {6}};
  CocoDetection found = detection(box, 0.5);
  found.mask = Mask{3, 2, {6}};
  refused("3x2", {masked}, {found});
  metrics.add(1, {}, {});
  expect_error(ErrorCode::kInput, {"twice"}, [&] { metrics.add(1, {}, {}); });
  expect_error(ErrorCode::kUsage, {"do not add up"},
               [&] { metrics.merge(CocoMetrics(3, CocoShape::kMask)); });
  for (const std::vector<double>& values :
       std::vector<std::vector<double>>{{},
                                        {2, 1, 1, 10, 100},
                                        {2, 1, 1, 10, 100, 1, 7, 1, 2},
                                        {2, 1, 1, 10, 100, 1, 7, 1, 0, 0, 0, 0, 0, 1e300},
                                        {2, 1, 1, 10, 100, 1, 7, 1, 0, 0.5, 0, 0, 0, 0},
                                        {2, 1, 1, 10, 100, 0.5},
                                        {kNothing},
                                        {2, 1, 1, 10, 100, 0, 0}}) {
    expect_error(ErrorCode::kUsage, {"metrics"}, [&] { metrics.merge_packed(values); });
  }
}

}  // namespace
}  // namespace vig::test
