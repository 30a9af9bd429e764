#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/errors.h"
#include "tasks/dense_golden.h"
#include "vig/tasks/anchors.h"
#include "vig/tasks/box_coder.h"
#include "vig/tasks/detect_boxes.h"
#include "vig/tasks/proposals.h"
#include "vig/tasks/roi_features.h"
#include "vig/tasks/suppress.h"

namespace vig {
namespace {

using test::DenseGolden;

void expect_near(const Box& found, const Box& expected, float tolerance, size_t index) {
  EXPECT_NEAR(found.x1, expected.x1, tolerance) << "box " << index;
  EXPECT_NEAR(found.y1, expected.y1, tolerance) << "box " << index;
  EXPECT_NEAR(found.x2, expected.x2, tolerance) << "box " << index;
  EXPECT_NEAR(found.y2, expected.y2, tolerance) << "box " << index;
}

void expect_near(std::span<const Box> found, std::span<const Box> expected, float tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) expect_near(found[i], expected[i], tolerance, i);
}

TEST(Anchors, AreThoseOfTheGoldenCase) {
  const DenseGolden golden("anchors");
  const DetectorConfig config;
  const std::vector<std::pair<int, int>> grids = {{5, 7}, {3, 4}, {2, 2}, {1, 1}, {1, 1}};
  for (size_t level = 0; level < grids.size(); ++level) {
    const int stride = config.strides[level];
    expect_near(cell_anchors(config, stride), golden.boxes("base/" + std::to_string(level)), 1e-4f);
    expect_near(level_anchors(config, stride, grids[level].first, grids[level].second),
                golden.boxes("anchors/" + std::to_string(level)), 1e-4f);
  }
}

TEST(Anchors, HaveOneAreaForAllRatios) {
  for (const Box& box : cell_anchors({}, 4)) EXPECT_NEAR(box.area(), 1024, 1e-3);
  const std::vector<Box> two = level_anchors({}, 4, 1, 2);
  ASSERT_EQ(two.size(), 6u);
  expect_near(two[4], {-12, -16, 20, 16}, 1e-5f, 4);
}

TEST(BoxCoder, AgreesWithTheGoldenCase) {
  const DenseGolden golden("box-coder");
  const std::vector<Box> anchors = golden.boxes("boxes"), truths = golden.boxes("gt");
  const std::vector<float> deltas = golden.floats("deltas");
  const std::map<std::string, BoxDeltas> stds = {{"rpn", {1, 1, 1, 1}},
                                                 {"rcnn", {0.1f, 0.1f, 0.2f, 0.2f}}};
  for (const auto& [name, std] : stds) {
    const std::vector<Box> free = golden.boxes("decoded_unclipped/" + name);
    const std::vector<Box> clipped = golden.boxes("decoded/" + name);
    const std::vector<float> encoded = golden.floats("encoded/" + name);
    for (size_t i = 0; i < anchors.size(); ++i) {
      const float* d = deltas.data() + 4 * i;
      const Box box = decode_box({d[0], d[1], d[2], d[3]}, anchors[i], std);
      // Coordinates of some thousand pixels: relative to them.
      const float size = std::max(1.0f, std::max(std::abs(free[i].x1), std::abs(free[i].x2)) +
                                            std::max(std::abs(free[i].y1), std::abs(free[i].y2)));
      expect_near(box, free[i], std::max(1e-4f, 1e-6f * size), i);
      expect_near(clip_box(box, 140, 100), clipped[i], 1e-4f, i);
      const BoxDeltas code = encode_box(truths[i], anchors[i], std);
      for (size_t k = 0; k < 4; ++k) EXPECT_NEAR(code[k], encoded[4 * i + k], 1e-4f);
      expect_near(decode_box(code, anchors[i], std), truths[i], 1e-4f, i);
    }
  }
}

TEST(BoxCoder, ZeroDeltasAreTheAnchorAndSidesGrowOnlySoFar) {
  const Box anchor = {10, 20, 26, 52};
  const BoxDeltas one = {1, 1, 1, 1};
  EXPECT_EQ(decode_box({0, 0, 0, 0}, anchor, one), anchor);
  EXPECT_NEAR(decode_box({0, 0, 100, 0}, anchor, one).width(), 16 * 62.5f, 1e-2f);
  EXPECT_NEAR(decode_box({0, 0, 0, -100}, anchor, one).height(), 32 / 62.5f, 1e-4f);
}

TEST(Suppress, KeepsWhatTheGoldenCaseKeeps) {
  const DenseGolden golden("nms");
  for (const auto& [name, overlap] :
       std::vector<std::pair<std::string, float>>{{"0.3", 0.3f}, {"0.5", 0.5f}, {"0.7", 0.7f}}) {
    const std::vector<size_t> kept =
        suppress_boxes(golden.boxes("boxes"), golden.floats("scores"), overlap);
    const std::vector<int64_t> expected = golden.integers("keep/iou" + name);
    EXPECT_TRUE(std::equal(kept.begin(), kept.end(), expected.begin(), expected.end(),
                           [](size_t a, int64_t b) { return static_cast<int64_t>(a) == b; }))
        << "overlap " << name;
  }
  EXPECT_TRUE(suppress_boxes({}, {}, 0.5f).empty());
}

std::vector<ProposalLevel> golden_levels(const DenseGolden& golden,
                                         std::vector<std::vector<float>>& memory) {
  std::vector<ProposalLevel> levels;
  memory.reserve(10);
  for (int i = 0; i < 5; ++i) {
    const std::string cls = "cls/" + std::to_string(i);
    memory.push_back(golden.map(cls));
    memory.push_back(golden.map("reg/" + std::to_string(i)));
    levels.push_back({static_cast<int>(golden.shape(cls)[2]),
                      static_cast<int>(golden.shape(cls)[3]), memory[memory.size() - 2].data(),
                      memory.back().data()});
  }
  return levels;
}

TEST(Proposals, AreThoseOfTheGoldenCase) {
  const DenseGolden golden("rpn-proposals");
  std::vector<std::vector<float>> memory;
  const std::vector<ProposalLevel> levels = golden_levels(golden, memory);
  DetectorConfig config;
  config.proposals = 40;
  const std::vector<Proposal> found = find_proposals(levels, config, 60, 91, 57);
  const std::vector<float> expected = golden.floats("output");
  const std::vector<Box> boxes = DenseGolden::boxes_of(expected, 5);
  ASSERT_EQ(found.size(), boxes.size());
  for (size_t i = 0; i < found.size(); ++i) {
    expect_near(found[i].box, boxes[i], 1e-4f, i);
    EXPECT_NEAR(found[i].score, expected[5 * i + 4], 1e-6f);
  }
}

TEST(Proposals, RefuseWhatIsNotFinite) {
  const DenseGolden golden("rpn-proposals");
  std::vector<std::vector<float>> memory;
  const std::vector<ProposalLevel> levels = golden_levels(golden, memory);
  memory[4][3] = NAN;
  test::expect_error(ErrorCode::kInput, {"not finite"},
                     [&] { find_proposals(levels, {}, 60, 91, 57); });
  test::expect_error(ErrorCode::kUsage, {"4 levels", "expected 5"},
                     [&] { find_proposals(std::span(levels).first(4), {}, 60, 91, 57); });
}

// Equally good anchors are taken in their order, independent of the library's sort.
TEST(Proposals, OfEqualsTheFirstAreTaken) {
  DetectorConfig config;
  config.strides = {8};
  config.anchor_scale = 1;
  config.anchor_ratios = {1};
  constexpr int kSide = 20;
  const std::vector<float> logits(kSide * kSide, 0.5f), deltas(4 * logits.size(), 0.0f);
  const std::vector<ProposalLevel> levels = {{kSide, kSide, logits.data(), deltas.data()}};
  const std::vector<Proposal> some = find_proposals(levels, config, 7, 160, 160);
  ASSERT_EQ(some.size(), 7u);
  const std::vector<Proposal> all = find_proposals(levels, config, kSide * kSide, 160, 160);
  ASSERT_EQ(all.size(), logits.size());
  for (size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(some[i].box.x1, all[i].box.x1);
    EXPECT_EQ(some[i].box.y1, all[0].box.y1) << "of the first line";
    EXPECT_TRUE(i == 0 || some[i].box.x1 > some[i - 1].box.x1);
  }
}

TEST(ChooseBoxes, KeepsAsManyAsAskedForTheBestFirst) {
  DetectorConfig config;
  config.detections = 2;
  const std::vector<ScoredBox> apart = {{{0, 0, 10, 10}, 0, 0.5f},
                                        {{20, 0, 30, 10}, 1, 0.9f},
                                        {{40, 0, 50, 10}, 0, 0.7f},
                                        {{60, 0, 70, 10}, 0, 0.5f}};
  const auto scores = [&] {
    std::vector<float> all;
    for (const ScoredBox& one : choose_boxes(apart, config)) all.push_back(one.score);
    return all;
  };
  EXPECT_EQ(scores(), (std::vector<float>{0.9f, 0.7f}));
  config.detections = 3;
  EXPECT_EQ(scores(), (std::vector<float>{0.9f, 0.7f, 0.5f}));
  config.detections = 4;
  EXPECT_EQ(scores(), (std::vector<float>{0.9f, 0.7f, 0.5f, 0.5f}));
}

// More than a library sorts by insertion, of three classes in turn.
TEST(ChooseBoxes, EqualScoresKeepTheirOrder) {
  DetectorConfig config;
  config.detections = 40;
  std::vector<ScoredBox> apart;
  for (int i = 0; i < 50; ++i) {
    const auto x = static_cast<float>(20 * i);
    apart.push_back({{x, 0, x + 10, 10}, i % 3, 0.5f});
  }
  const std::vector<ScoredBox> found = choose_boxes(apart, config);
  ASSERT_EQ(found.size(), 40u);
  for (size_t i = 0; i < found.size(); ++i) {
    expect_near(found[i].box, apart[i].box, 0, i);
    EXPECT_EQ(found[i].label, apart[i].label);
  }
}

TEST(DetectBoxes, ScoresMustBeAboveTheLeast) {
  const std::vector<Box> proposals = {{10, 10, 30, 20}};
  const std::vector<float> logits(2, 3.0f), deltas(4, 0.0f);  // a class and none: half each
  const Placement placement = {100, 100, 100, 100, 0, 0, 100, 100};
  DetectorConfig config;
  config.min_score = 0.5f;
  EXPECT_TRUE(detect_boxes(proposals, logits, deltas, 1, config, placement).empty());
  config.min_score = 0.499f;
  EXPECT_EQ(detect_boxes(proposals, logits, deltas, 1, config, placement).size(), 1u);
}

TEST(ChooseBoxes, KeepsWhatTheGoldenCaseKeeps) {
  const DenseGolden golden("multiclass-nms");
  const std::vector<float> boxes = golden.floats("boxes"), scores = golden.floats("scores");
  DetectorConfig config;
  config.detections = 30;
  std::vector<ScoredBox> candidates;
  for (size_t i = 0; i < 50; ++i) {
    for (size_t label = 0; label < 4; ++label) {
      const float* box = boxes.data() + i * 16 + label * 4;
      const float score = scores[i * 5 + label];
      if (score > config.min_score) {
        candidates.push_back({{box[0], box[1], box[2], box[3]}, static_cast<int>(label), score});
      }
    }
  }
  const std::vector<ScoredBox> found = choose_boxes(candidates, config);
  const std::vector<float> expected = golden.floats("dets");
  const std::vector<int64_t> labels = golden.integers("labels");
  ASSERT_EQ(found.size(), labels.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].label, labels[i]) << i;
    expect_near(found[i].box, DenseGolden::boxes_of(expected, 5)[i], 0.0f, i);
    EXPECT_EQ(found[i].score, expected[5 * i + 4]);
  }
}

// Against the same written out in double.
TEST(DetectBoxes, MapsBackToTheImage) {
  Placement placement;
  placement.source_width = 50;
  placement.source_height = 40;
  placement.resized_width = 100;
  placement.resized_height = 60;
  const std::vector<Box> proposals = {{10, 10, 30, 20}, {60, 30, 120, 50}};
  const std::vector<float> logits = {3, 0, 0, -9, 2, 1};  // two classes and none
  std::vector<float> deltas(2 * 2 * 4, 0.0f);
  deltas[0] = 1.0f;  // a tenth of the width of the first
  const std::vector<ScoredBox> found = detect_boxes(proposals, logits, deltas, 2, {}, placement);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].label, 0);
  EXPECT_NEAR(found[0].score, std::exp(3.0) / (std::exp(3.0) + 2), 1e-6);
  expect_near(found[0].box, {6, 10.f * 40 / 60, 16, 20.f * 40 / 60}, 1e-4f, 0);
  EXPECT_EQ(found[1].label, 1);  // clipped to the resized image
  expect_near(found[1].box, {30, 20, 50, 50.f * 40 / 60}, 1e-4f, 1);
}

TEST(DetectBoxes, RefusesWhatIsNotFinite) {
  const std::vector<Box> proposals = {{10, 10, 30, 20}};
  const std::vector<float> logits = {INFINITY, 0}, deltas(4, 0.0f);
  Placement placement = {100, 100, 100, 100, 0, 0, 100, 100};
  test::expect_error(ErrorCode::kInput, {"not finite"},
                     [&] { detect_boxes(proposals, logits, deltas, 1, {}, placement); });
  test::expect_error(ErrorCode::kUsage, {"2 logits", "1 proposals of 2 classes"},
                     [&] { detect_boxes(proposals, logits, deltas, 2, {}, placement); });
}

TEST(RoiFeatures, LevelsAndFeaturesAreThoseOfTheGoldenCase) {
  const DenseGolden golden("roi-levels");
  DetectorConfig config;
  std::vector<std::vector<float>> memory;
  std::vector<PyramidLevel> levels;
  for (int i = 0; i < 4; ++i) {
    const std::string name = "feat/" + std::to_string(i);
    memory.push_back(golden.map(name));
    const Shape& shape = golden.shape(name);
    levels.push_back({static_cast<int>(shape[2]), static_cast<int>(shape[3]), 3, nullptr});
  }
  for (size_t i = 0; i < 4; ++i) levels[i].values = memory[i].data();
  const std::vector<float> rois = golden.floats("rois"), expected = golden.floats("output");
  const std::vector<int64_t> level = golden.integers("level");
  const std::vector<Box> boxes = DenseGolden::boxes_of(rois, 5, 1);
  ASSERT_EQ(boxes.size(), level.size());
  double worst = 0;
  for (size_t i = 0; i < boxes.size(); ++i) {
    EXPECT_EQ(roi_level(boxes[i], config), level[i]) << i;
    std::vector<float> found(7 * 7 * 3);
    roi_features(levels, boxes[i], config, 7, found.data());
    for (size_t c = 0; c < 3; ++c) {
      for (size_t p = 0; p < 49; ++p) {
        worst =
            std::max<double>(worst, std::abs(found[p * 3 + c] - expected[(i * 3 + c) * 49 + p]));
      }
    }
  }
  EXPECT_LT(worst, 2e-5);
}

TEST(RoiFeatures, LevelsChangeAtPowersOfTwo) {
  const auto level = [](float width, float height) {
    return roi_level({5, 7, 5 + width, 7 + height}, {});
  };
  EXPECT_EQ(level(1, 1), 0);
  EXPECT_EQ(level(111.9f, 111.9f), 0);
  EXPECT_EQ(level(112, 112), 1);
  EXPECT_EQ(level(56, 224), 1);
  EXPECT_EQ(level(224, 224), 2);
  EXPECT_EQ(level(9000, 9000), 3);
  EXPECT_EQ(level(0, 0), 0);
}

}  // namespace
}  // namespace vig
