#include "vig/tasks/merge_objects.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/errors.h"

namespace vig {
namespace {

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
constexpr int kWidth = 300, kHeight = 100, kSide = 100;

struct Area {
  int x1, y1, x2, y2;  // in the image
};

// What a window sees of a filled rectangle of the image.
Detection seen(const InputWindow& window, const Area& area, float score, int label = 0) {
  const auto clip = [](int value, int most) { return std::clamp(value, 0, most); };
  const Area part = {
      clip(area.x1 - window.x, window.width), clip(area.y1 - window.y, window.height),
      clip(area.x2 - window.x, window.width), clip(area.y2 - window.y, window.height)};
  std::vector<uint8_t> pixels(static_cast<size_t>(window.width * window.height), 0);
  for (int y = part.y1; y < part.y2; ++y) {
    for (int x = part.x1; x < part.x2; ++x) {
      pixels[static_cast<size_t>(y * window.width + x)] = 1;
    }
  }
  return {{static_cast<float>(part.x1), static_cast<float>(part.y1), static_cast<float>(part.x2),
           static_cast<float>(part.y2)},
          label,
          score,
          encode_mask(pixels, window.width, window.height)};
}

int64_t area_of(const LargeObject& object) { return object.mask.area(); }

class MergeObjects : public ::testing::Test {
 protected:
  const InputWindow left_{0, 0, kSide, kSide}, middle_{70, 0, kSide, kSide},
      right_{140, 0, kSide, kSide};
  ObjectMerger merger_{kWidth, kHeight};
};

TEST_F(MergeObjects, WholeObjectsAppearOnceWithTheBetterScore) {
  const Area object = {75, 20, 95, 50};
  merger_.add(left_, {seen(left_, object, 0.8f)});
  merger_.add(middle_, {seen(middle_, object, 0.9f)});
  const std::vector<LargeObject> found = merger_.take_above(kAll);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FLOAT_EQ(found[0].score, 0.9f);
  EXPECT_EQ(area_of(found[0]), 20 * 30);
  EXPECT_EQ(found[0].mask_x, 75);
  EXPECT_EQ(found[0].mask_y, 20);
  EXPECT_EQ(found[0].x2, 95);
}

TEST_F(MergeObjects, TheWholeOneIsKeptWhateverTheScoreOfACutOne) {
  const Area object = {85, 20, 125, 50};  // beyond the left window
  merger_.add(left_, {seen(left_, object, 0.99f)});
  merger_.add(middle_, {seen(middle_, object, 0.5f)});
  const std::vector<LargeObject> found = merger_.take_above(kAll);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FLOAT_EQ(found[0].score, 0.5f);
  EXPECT_EQ(area_of(found[0]), 40 * 30);
}

// Of a sliver the intersection is a small part of the union, but most of the sliver.
TEST_F(MergeObjects, ASliverIsNotAnObjectOfItsOwn) {
  const Area object = {96, 20, 125, 50};
  Detection sliver = seen(left_, object, 0.4f);
  merger_.add(left_, {sliver});
  merger_.add(middle_, {seen(middle_, {97, 24, 125, 50}, 0.9f)});
  EXPECT_EQ(merger_.take_above(kAll).size(), 1u);
}

TEST_F(MergeObjects, PartsOfALongObjectAreUnited) {
  const Area object = {20, 10, 230, 30};  // over all three windows
  merger_.add(left_, {seen(left_, object, 0.6f)});
  merger_.add(middle_, {seen(middle_, object, 0.9f)});
  merger_.add(right_, {seen(right_, object, 0.7f)});
  const std::vector<LargeObject> found = merger_.take_above(kAll);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FLOAT_EQ(found[0].score, 0.9f);
  EXPECT_EQ(found[0].x1, 20);
  EXPECT_EQ(found[0].x2, 230);
  EXPECT_EQ(area_of(found[0]), 210 * 20);
  EXPECT_EQ(found[0].mask.width, 210);
}

TEST_F(MergeObjects, FourWindowsMakeOneOfAnObjectAtTheirCorner) {
  ObjectMerger merger(170, 170);
  const Area object = {60, 60, 120, 120};
  for (const int y : {0, 70}) {
    for (const int x : {0, 70}) {
      const InputWindow window{x, y, kSide, kSide};
      merger.add(window, {seen(window, object, 0.5f)});
    }
  }
  const std::vector<LargeObject> found = merger.take_above(kAll);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(area_of(found[0]), 60 * 60);
}

TEST_F(MergeObjects, OthersStay) {
  // Another class, a neighbour that touches, one that another window missed.
  merger_.add(left_, {seen(left_, {72, 20, 90, 40}, 0.9f, 0), seen(left_, {72, 60, 84, 80}, 0.8f)});
  merger_.add(middle_,
              {seen(middle_, {72, 20, 90, 40}, 0.9f, 1), seen(middle_, {84, 60, 95, 80}, 0.8f)});
  const std::vector<LargeObject> found = merger_.take_above(kAll);
  EXPECT_EQ(found.size(), 4u);
}

TEST_F(MergeObjects, ObjectsOfOneWindowAreNeverMerged) {
  const Area object = {10, 10, 40, 40};
  merger_.add(left_, {seen(left_, object, 0.9f), seen(left_, object, 0.8f)});
  EXPECT_EQ(merger_.take_above(kAll).size(), 2u);
}

TEST_F(MergeObjects, BordersOfTheImageCutNothing) {
  const Area object = {0, 0, 90, 100};
  merger_.add(left_, {seen(left_, object, 0.9f)});
  merger_.add(middle_, {seen(middle_, object, 0.95f)});  // cut on the left
  const std::vector<LargeObject> found = merger_.take_above(kAll);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FLOAT_EQ(found[0].score, 0.9f);
}

TEST_F(MergeObjects, AreTakenWhenNoFurtherWindowShowsThem) {
  merger_.add(left_, {seen(left_, {5, 10, 20, 40}, 0.9f), seen(left_, {30, 30, 50, 71}, 0.8f)});
  EXPECT_EQ(merger_.take_above(39).size(), 0u);
  const std::vector<LargeObject> first = merger_.take_above(70);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].bottom(), 40);
  EXPECT_EQ(merger_.take_above(71).size(), 1u);
}

TEST_F(MergeObjects, AStateContinuesExactly) {
  const Area object = {20, 10, 230, 30};
  merger_.add(left_, {seen(left_, object, 0.6f), seen(left_, {5, 50, 20, 70}, 0.1f)});
  Detection bare = seen(left_, {40, 60, 52, 77}, 0.3f);
  bare.mask = encode_mask(std::vector<uint8_t>(kSide * kSide, 0), kSide, kSide);
  merger_.add(middle_, {seen(middle_, object, 1 / 3.0f), bare});
  ObjectMerger other(kWidth, kHeight);
  other.restore(merger_.state());
  EXPECT_EQ(other.state(), merger_.state());
  for (ObjectMerger* one : {&merger_, &other}) one->add(right_, {seen(right_, object, 0.7f)});
  const std::vector<LargeObject> found = merger_.take_above(kAll);
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ(found, other.take_above(kAll));
  for (const LargeObject& one : found) EXPECT_EQ(parse_object_line(object_line(one)), one);
}

TEST_F(MergeObjects, DamagedLinesAreRefused) {
  for (const char* line : {"", "1", "0 0.5 1 2 3 4 5 6 1 1", "0 0.5 1 2 3 4 5 6 2 2 01 7",
                           "0 x 1 2 3 4 5 6 0 0 -", "0 0.5 1 2 3 4 5 6 2 2 !!"}) {
    test::expect_error(ErrorCode::kInput, {}, [&] { parse_object_line(line); });
  }
}

}  // namespace
}  // namespace vig
