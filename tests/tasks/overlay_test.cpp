#include "vig/tasks/overlay.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"

namespace vig::test {
namespace {

Color pixel(const Image& image, int x, int y) {
  const uint8_t* at = image.row(y) + x * 3;
  return {at[0], at[1], at[2]};
}

double apart(const Color& a, const Color& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

TEST(Overlay, ColoursAreToldApart) {
  const std::vector<Color> palette = class_palette(150);
  for (size_t i = 0; i < 20; ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_GT(apart(palette[i], palette[j]), 25) << i << " " << j;
  }
  for (size_t i = 1; i < palette.size(); ++i) EXPECT_GT(apart(palette[i], palette[i - 1]), 90) << i;
  EXPECT_EQ(class_color(7), palette[7]);
}

TEST(Overlay, SharesTheLargestFirst) {
  LabelMap map(10, 1, 2);
  map.labels[0] = 5;
  map.labels[1] = map.labels[2] = 0;
  map.labels[3] = map.labels[4] = kNoLabel;
  const std::vector<AreaShare> shares = area_shares(map);
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_EQ(shares[0].label, 2);
  EXPECT_EQ(shares[0].share, 5 / 8.0);
  EXPECT_EQ(shares[1].label, 0);
  EXPECT_EQ(shares[2].label, 5);
  EXPECT_TRUE(area_shares(LabelMap(3, 3)).empty());
}

TEST(Overlay, SegmentationInColour) {
  LabelMap map(600, 400, 0);
  for (int y = 0; y < 400; ++y) std::fill_n(map.row(y) + 300, 300, uint8_t{1});
  std::fill_n(map.row(0), 50, kNoLabel);
  const std::vector<std::string> classes = {"sky", "road"};
  const Image plain = draw_segmentation(Image(600, 400), map, classes,
                                        {.opacity = 1, .legend = false, .contours = false});
  EXPECT_EQ(plain.width, 600);
  EXPECT_EQ(plain.height, 400);
  EXPECT_EQ(pixel(plain, 100, 100), class_color(0));
  EXPECT_EQ(pixel(plain, 400, 100), class_color(1));
  EXPECT_EQ(pixel(plain, 10, 0), (Color{0, 0, 0}));  // no label, no colour
  const Image legend = draw_segmentation(Image(600, 400), map, classes, {.opacity = 1});
  EXPECT_EQ(legend.width, 600);
  EXPECT_GT(legend.height, 410);
  EXPECT_LT(legend.height, 500);
  EXPECT_EQ(pixel(legend, 100, 100), class_color(0));
  // One part is smaller than the other by the pixels without label.
  EXPECT_EQ(pixel(legend, 6, 412), class_color(1));
}

TEST(Overlay, SmallPicturesAreEnlarged) {
  const Image tiny = draw_segmentation(Image(5, 3), LabelMap(5, 3, 1), {}, {});
  EXPECT_GE(tiny.width, 40);
  EXPECT_GT(tiny.height, 24 + 10);
  const Image one = draw_segmentation(Image(1, 1), LabelMap(1, 1, 9), {}, {});
  EXPECT_GE(one.width, 8);
  const Image narrow = draw_segmentation(Image(1, 2000), LabelMap(1, 2000, 9), {}, {});
  EXPECT_GE(narrow.height, 2000);
}

TEST(Overlay, ManyClassesAreSummedUp) {
  LabelMap map(100, 100);
  for (size_t i = 0; i < map.labels.size(); ++i) map.labels[i] = static_cast<uint8_t>(i % 200);
  const Image few = draw_segmentation(Image(100, 100), map, {}, {.most_entries = 4});
  const Image many = draw_segmentation(Image(100, 100), map, {}, {.most_entries = 40});
  EXPECT_LT(few.height, many.height);
  EXPECT_LT(many.height, 1500);
}

TEST(Overlay, TheOthersHaveTheSumOfTheirShares) {
  // The legend of three stripes, the two smaller of which are summed up.
  const auto legend = [](int first, int second) {
    LabelMap map(600, 400, 2);
    for (int y = 0; y < map.height; ++y) {
      std::fill_n(map.row(y), first, uint8_t{0});
      std::fill_n(map.row(y) + first, second, uint8_t{1});
    }
    const Image drawn = draw_segmentation(Image(600, 400), map, {}, {.most_entries = 2});
    return std::vector<uint8_t>(drawn.row(400), drawn.row(0) + drawn.rgb.size());
  };
  EXPECT_EQ(legend(300, 180), legend(300, 150));
  EXPECT_NE(legend(300, 180), legend(330, 150));
}

// However long a picture is, its legend is not much higher than it.
TEST(Overlay, LegendsOfLongPicturesAreSmall) {
  const std::vector<std::string> classes = {"sky", "road"};
  const Image wide = draw_segmentation(Image(100000, 2), LabelMap(100000, 2, 1), classes, {});
  EXPECT_EQ(wide.width, 100000);
  EXPECT_LT(wide.height, 40);
  const Image tall = draw_segmentation(Image(2, 100000), LabelMap(2, 100000, 1), classes, {});
  EXPECT_LT(tall.width, 20);
  EXPECT_LT(tall.height, 100040);
}

TEST(Overlay, SizesMustAgree) {
  expect_error(ErrorCode::kUsage, {"4x3", "3x4"},
               [] { draw_segmentation(Image(3, 4), LabelMap(4, 3, 0), {}, {}); });
  expect_error(ErrorCode::kUsage, {"pixels"},
               [] { draw_segmentation(Image(), LabelMap(), {}, {}); });
  expect_error(ErrorCode::kUsage, {"pixels"}, [] { draw_detections(Image(), {}, {}, {}); });
  const Detections wrong = {{.box = {0, 0, 2, 2}, .mask = Mask{4, 3, {12}}}};
  expect_error(ErrorCode::kUsage, {"4x3"}, [&] { draw_detections(Image(3, 4), wrong, {}, {}); });
}

TEST(Overlay, Detections) {
  const std::vector<std::string> classes = {"cat", "dog"};
  Detection best{.box = {100, 100, 300, 200}, .label = 1, .score = 0.9f, .mask = {}};
  Detection worse{.box = {200, 150, 400, 300}, .label = 0, .score = 0.5f, .mask = {}};
  worse.mask = polygon_mask(std::vector<double>{250, 220, 350, 220, 350, 280, 250, 280}, 640, 480);
  const Image drawn = draw_detections(Image(640, 480), {best, worse}, classes, {.opacity = 1});
  EXPECT_EQ(drawn.width, 640);
  EXPECT_EQ(drawn.height, 480);
  EXPECT_EQ(pixel(drawn, 100, 199), class_color(1));
  EXPECT_EQ(pixel(drawn, 399, 299), class_color(0));
  EXPECT_EQ(pixel(drawn, 300, 250), class_color(0));  // the mask
  EXPECT_EQ(pixel(drawn, 210, 199), class_color(1));  // the best lies on top
  EXPECT_EQ(pixel(drawn, 600, 400), (Color{0, 0, 0}));
  EXPECT_NE(pixel(drawn, 101, 90), (Color{0, 0, 0}));  // its name above it
  const Image strict =
      draw_detections(Image(640, 480), {best, worse}, classes, {.opacity = 1, .least_score = 0.6});
  EXPECT_EQ(pixel(strict, 300, 250), (Color{0, 0, 0}));
  EXPECT_EQ(draw_detections(Image(640, 480), {}, classes, {}), Image(640, 480));
  // Whatever boxes a network may give.
  const Detections odd = {{{-50, -50, 1e9f, 1e9f}, 70, 0, {}},
                          {{700, 500, 600, 400}, 1, 0, {}},
                          {{5, 5, 5, 5}, 0, 0, {}}};
  EXPECT_EQ(draw_detections(Image(640, 480), odd, classes, {}).width, 640);
}

// With nothing laid over the inside, the edges alone show.
TEST(Overlay, ContoursOfMasksAndRegions) {
  const std::vector<std::string> classes = {"cat", "dog"};
  Detection one{.box = {0, 0, 5, 5}, .label = 1, .score = 0.9f, .mask = {}};
  one.mask = polygon_mask(std::vector<double>{200, 100, 300, 100, 300, 180, 200, 180}, 640, 480);
  const Color black = {0, 0, 0}, own = class_color(1);
  const Image edges =
      draw_detections(Image(640, 480), {one}, classes, {.opacity = 0, .legend = false});
  for (const auto& [x, y] : {std::pair{200, 140}, {299, 140}, {250, 100}, {250, 179}}) {
    EXPECT_EQ(pixel(edges, x, y), own) << x << ", " << y;
  }
  for (const auto& [x, y] : {std::pair{199, 140}, {300, 140}, {250, 99}, {250, 180}, {250, 140}}) {
    EXPECT_EQ(pixel(edges, x, y), black) << x << ", " << y;
  }
  const Image none = draw_detections(Image(640, 480), {one}, classes,
                                     {.opacity = 0, .legend = false, .contours = false});
  EXPECT_EQ(pixel(none, 200, 140), black);

  // Regions are darker on the left and the upper side of their common edge.
  Image grey(600, 400);
  std::ranges::fill(grey.rgb, uint8_t{100});
  LabelMap map(600, 400, 0);
  for (int y = 200; y < 400; ++y) std::fill_n(map.row(y) + 300, 300, uint8_t{1});
  const Image regions = draw_segmentation(grey, map, classes, {.opacity = 0, .legend = false});
  const Color dark = {40, 40, 40}, plain = {100, 100, 100};
  EXPECT_EQ(pixel(regions, 299, 300), dark);
  EXPECT_EQ(pixel(regions, 400, 199), dark);
  for (const auto& [x, y] : {std::pair{298, 300}, {300, 300}, {400, 198}, {400, 200}, {299, 100}}) {
    EXPECT_EQ(pixel(regions, x, y), plain) << x << ", " << y;
  }
  EXPECT_EQ(
      draw_segmentation(grey, map, classes, {.opacity = 0, .legend = false, .contours = false}),
      grey);
}

// Above its box, in it where there is no room above, below it where both are taken.
TEST(Overlay, NamesDoNotCoverEachOther) {
  const std::vector<std::string> classes = {"cat", "dog", "fox", "hen"};
  Detections same;
  for (int i = 0; i < 4; ++i) {
    same.push_back({{100, 100, 300, 200}, i, 0.9f - 0.1f * static_cast<float>(i), {}});
  }
  const Color black = {0, 0, 0};
  const int line = kFontHeight + 2, behind = 101 + text_width("cat 0.90");
  const auto tab_of = [](size_t label) {  // nine tenths of the colour over black
    Image image(1, 1);
    fill_rectangle(image, 0, 0, 1, 1, class_color(label), 0.9);
    return pixel(image, 0, 0);
  };
  const Image drawn = draw_detections(Image(400, 300), same, classes, {});
  EXPECT_EQ(pixel(drawn, behind, 99), tab_of(0));
  EXPECT_EQ(pixel(drawn, behind, 100 - line), tab_of(0));
  EXPECT_EQ(pixel(drawn, behind, 100 - line - 1), black);
  EXPECT_EQ(pixel(drawn, behind, 101), tab_of(1));
  EXPECT_EQ(pixel(drawn, behind, 200), tab_of(2));
  EXPECT_EQ(pixel(drawn, behind, 200 + line), black) << "no room for a fourth";
  const Image bare = draw_detections(Image(400, 300), same, classes, {.legend = false});
  for (const int y : {99, 101, 200}) EXPECT_EQ(pixel(bare, behind, y), black) << y;
  // At the upper border a name stands in its box.
  const Detections top = {{{100, 0, 300, 200}, 0, 0.9f, {}}};
  EXPECT_EQ(pixel(draw_detections(Image(400, 300), top, classes, {}), behind, 1), tab_of(0));
}

TEST(Overlay, LongNamesAreCutAndScoresMayBeTheLeast) {
  const auto drawn = [](const std::string& name, double least = 0) {
    const std::vector<std::string> classes = {name, "other"};
    return draw_detections(Image(640, 480), {{{100, 100, 300, 200}, 0, 0.5f, {}}}, classes,
                           {.least_score = least});
  };
  EXPECT_EQ(drawn("abcdefghijklmnopqrstu"), drawn("abcdefghijklmnopqr.."));
  EXPECT_NE(drawn("abcdefghijklmnopqrst"), drawn("abcdefghijklmnopqr.."));
  EXPECT_EQ(drawn("cat", 0.5), drawn("cat"));
  EXPECT_EQ(drawn("cat", 0.51), Image(640, 480));
}

TEST(Overlay, NamesAtTheRightBorderAreWhole) {
  const std::vector<std::string> classes = {"elephant", "dog"};
  const Detections one = {{{600, 100, 639, 200}, 0, 0.9f, {}}};
  const Image drawn = draw_detections(Image(640, 480), one, classes, {});
  const int left = 640 - text_width("elephant 0.90") - 2, top = 100 - kFontHeight - 2;
  ASSERT_LT(left, 599);
  EXPECT_NE(pixel(drawn, left, top), (Color{0, 0, 0}));
  EXPECT_EQ(pixel(drawn, left, top), pixel(drawn, 639, top));
  EXPECT_EQ(pixel(drawn, left - 1, top), (Color{0, 0, 0}));
}

TEST(Overlay, ObjectsOfTheOnlyClassAreToldApart) {
  const std::vector<std::string> classes = {"nucleus"};
  const Detections two = {{{10, 50, 60, 100}, 0, 0.9f, {}}, {{200, 50, 260, 100}, 0, 0.8f, {}}};
  const Image drawn = draw_detections(Image(512, 512), two, classes, {});
  EXPECT_NE(pixel(drawn, 10, 99), pixel(drawn, 200, 99));
}

}  // namespace
}  // namespace vig::test
