#include "vig/tasks/overlay.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"
#include "vig/image/draw.h"
#include "vig/tasks/class_colors.h"

namespace vig::test {
namespace {

Color pixel(const Image& image, int x, int y) {
  const uint8_t* at = image.row(y) + x * 3;
  return {at[0], at[1], at[2]};
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
  const std::vector<std::string> classes = {"left", "right"};
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

TEST(Overlay, SmallImagesAreEnlarged) {
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

// However long an image is, its legend is not much higher than it.
TEST(Overlay, LegendsOfLongImagesAreSmall) {
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
  Detection worse{.box = {200, 150, 400, 300}, .label = 1, .score = 0.5f, .mask = {}};
  worse.mask = polygon_mask(std::vector<double>{250, 220, 350, 220, 350, 280, 250, 280}, 640, 480);
  const Image drawn = draw_detections(Image(640, 480), {best, worse}, classes, {.opacity = 1});
  EXPECT_EQ(drawn.width, 640);
  EXPECT_EQ(drawn.height, 480);
  // Each object has a colour of its own, independent of its class.
  EXPECT_EQ(pixel(drawn, 100, 199), class_color(0));
  EXPECT_EQ(pixel(drawn, 399, 299), class_color(1));
  EXPECT_EQ(pixel(drawn, 300, 250), class_color(1));  // the mask
  EXPECT_EQ(pixel(drawn, 210, 199), class_color(0));  // the best lies on top
  EXPECT_EQ(pixel(drawn, 600, 400), (Color{0, 0, 0}));
  EXPECT_NE(pixel(drawn, 101, 90), (Color{0, 0, 0}));  // its name above it
  const Image strict =
      draw_detections(Image(640, 480), {best, worse}, classes, {.opacity = 1, .least_score = 0.6});
  EXPECT_EQ(pixel(strict, 300, 250), (Color{0, 0, 0}));
  EXPECT_EQ(draw_detections(Image(640, 480), {}, classes, {}), Image(640, 480));
  // Any boxes that a network may give.
  const Detections odd = {{{-50, -50, 1e9f, 1e9f}, 70, 0, {}},
                          {{700, 500, 600, 400}, 1, 0, {}},
                          {{5, 5, 5, 5}, 0, 0, {}}};
  EXPECT_EQ(draw_detections(Image(640, 480), odd, classes, {}).width, 640);
}

// A rectangle, right and bottom not included.
Mask rectangle_mask(int left, int top, int right, int bottom, int width, int height) {
  std::vector<uint8_t> pixels(static_cast<size_t>(width * height));
  for (int y = top; y < bottom; ++y)
    std::fill_n(pixels.begin() + y * width + left, right - left, 1);
  return encode_mask(pixels, width, height);
}

// With nothing laid over the inside, the edges alone show.
TEST(Overlay, ContoursOfMasksAndRegions) {
  const std::vector<std::string> classes = {"cat", "dog"};
  Detection one{.box = {0, 0, 5, 5}, .label = 1, .score = 0.9f, .mask = {}};
  one.mask = rectangle_mask(200, 100, 300, 180, 640, 480);
  const Color black = {0, 0, 0}, own = class_color(0);
  const Image edges =
      draw_detections(Image(640, 480), {one}, classes, {.opacity = 0, .labels = LabelText::kNone});
  for (const auto& [x, y] : {std::pair{200, 140}, {299, 140}, {250, 100}, {250, 179}}) {
    EXPECT_EQ(pixel(edges, x, y), own) << x << ", " << y;
  }
  for (const auto& [x, y] : {std::pair{199, 140}, {300, 140}, {250, 99}, {250, 180}, {250, 140}}) {
    EXPECT_EQ(pixel(edges, x, y), black) << x << ", " << y;
  }
  const Image none = draw_detections(Image(640, 480), {one}, classes,
                                     {.opacity = 0, .contours = false, .labels = LabelText::kNone});
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

// An image of 60 x 40 pixels is enlarged eight times. The contour of a mask is then half a pixel of
// the image wide and lies inside of the mask, on all four sides.
TEST(Overlay, ContoursOfMasksOnEnlargedImages) {
  Detection one{.box = {55, 35, 60, 40}, .label = 0, .score = 0.9f, .mask = {}};
  one.mask = rectangle_mask(20, 5, 45, 30, 60, 40);
  const std::vector<std::string> classes = {"cat", "dog"};
  const Image drawn =
      draw_detections(Image(60, 40), {one}, classes, {.opacity = 0, .labels = LabelText::kNone});
  ASSERT_EQ(drawn.width, 480);
  ASSERT_EQ(drawn.height, 320);
  // The mask covers [160, 360) by [40, 240) of the drawing.
  for (int y = 0; y < 280; ++y) {
    for (int x = 0; x < 440; ++x) {
      const bool inside = x >= 160 && x < 360 && y >= 40 && y < 240;
      const bool deep = x >= 164 && x < 356 && y >= 44 && y < 236;
      const Color expected = inside && !deep ? class_color(0) : Color{0, 0, 0};
      ASSERT_EQ(pixel(drawn, x, y), expected) << x << ", " << y;
    }
  }
  // A mask of one pixel is edge all over.
  one.mask = rectangle_mask(7, 11, 8, 12, 60, 40);
  const Image dot =
      draw_detections(Image(60, 40), {one}, classes, {.opacity = 0, .labels = LabelText::kNone});
  for (const auto& [x, y] : {std::pair{56, 88}, {63, 88}, {56, 95}, {63, 95}, {59, 92}}) {
    EXPECT_EQ(pixel(dot, x, y), class_color(0)) << x << ", " << y;
  }
  for (const auto& [x, y] : {std::pair{55, 88}, {64, 88}, {56, 87}, {56, 96}}) {
    EXPECT_EQ(pixel(dot, x, y), (Color{0, 0, 0})) << x << ", " << y;
  }
}

// The edge of regions is a quarter of an enlarged pixel wide, dark at the end of the left and of
// the upper region.
TEST(Overlay, ContoursOfRegionsOnEnlargedImages) {
  Image grey(60, 40);
  std::ranges::fill(grey.rgb, uint8_t{100});
  LabelMap map(60, 40, 0);
  for (int y = 10; y < 40; ++y) std::fill_n(map.row(y) + 25, 35, uint8_t{1});
  const Image drawn = draw_segmentation(grey, map, {}, {.opacity = 0, .legend = false});
  ASSERT_EQ(drawn.width, 480);
  for (int y = 0; y < 320; ++y) {
    for (int x = 0; x < 480; ++x) {
      const bool left = y >= 80 && (x == 198 || x == 199), upper = x >= 200 && (y == 78 || y == 79);
      const uint8_t expected = left || upper ? 40 : 100;
      ASSERT_EQ(pixel(drawn, x, y), (Color{expected, expected, expected})) << x << ", " << y;
    }
  }
}

// Lines grow with the image up to 8 pixels, and are thinner around small objects.
TEST(Overlay, LinesFollowTheSizeOfTheImage) {
  const auto widths = [](int side, float object) {
    const Detections one = {{{10, 10, 10 + object, 10 + object}, 0, 0.9f, {}}};
    const Image drawn = draw_detections(Image(side, side), one, {}, {.labels = LabelText::kNone});
    int width = 0;
    while (pixel(drawn, 10 + width, 10 + static_cast<int>(object) / 2) == class_color(0)) ++width;
    return width;
  };
  EXPECT_EQ(widths(600, 400), 1);
  EXPECT_EQ(widths(1500, 400), 3);
  EXPECT_EQ(widths(1500, 16), 2);
  EXPECT_EQ(widths(6000, 400), 8);
  // So do contours.
  Detection wide{.box = {0, 0, 1, 1}, .label = 0, .score = 0.9f, .mask = {}};
  wide.mask = rectangle_mask(100, 200, 900, 800, 1500, 1500);
  const Image drawn =
      draw_detections(Image(1500, 1500), {wide}, {}, {.opacity = 0, .labels = LabelText::kNone});
  EXPECT_EQ(pixel(drawn, 102, 500), class_color(0));
  EXPECT_EQ(pixel(drawn, 103, 500), (Color{0, 0, 0}));
  EXPECT_EQ(pixel(drawn, 99, 500), (Color{0, 0, 0}));
  EXPECT_EQ(pixel(drawn, 500, 797), class_color(0));
  EXPECT_EQ(pixel(drawn, 500, 796), (Color{0, 0, 0}));
  EXPECT_EQ(pixel(drawn, 500, 800), (Color{0, 0, 0}));
}

// Above its box, below it, right and left of it, each where the others are taken.
TEST(Overlay, LabelsDoNotCoverEachOther) {
  const std::vector<std::string> classes = {"cat", "dog", "fox", "hen", "owl"};
  Detections same;
  for (int i = 0; i < 5; ++i) {
    same.push_back({{100, 100, 300, 200}, i, 0.9f - 0.1f * static_cast<float>(i), {}});
  }
  const Color black = {0, 0, 0};
  const int line = kFontHeight + 2, width = text_width("cat 0.90") + 2, behind = 99 + width;
  const auto tab_of = [](size_t object) {  // nine tenths of the colour over black
    Image image(1, 1);
    fill_rectangle(image, 0, 0, 1, 1, class_color(object), 0.9);
    return pixel(image, 0, 0);
  };
  const Image drawn = draw_detections(Image(400, 300), same, classes, {});
  EXPECT_EQ(pixel(drawn, behind, 99), tab_of(0));
  EXPECT_EQ(pixel(drawn, behind, 100 - line), tab_of(0));
  EXPECT_EQ(pixel(drawn, behind, 100 - line - 1), black);
  EXPECT_EQ(pixel(drawn, behind, 200), tab_of(1));
  EXPECT_EQ(pixel(drawn, 299 + width, 100), tab_of(2));
  EXPECT_EQ(pixel(drawn, 300 + width, 100), black);
  EXPECT_EQ(pixel(drawn, 100 - width, 100), tab_of(3));
  EXPECT_EQ(pixel(drawn, 99 - width, 100), black);
  EXPECT_EQ(pixel(drawn, behind, 101), tab_of(4));  // in the box, of which it covers little
  const Image bare = draw_detections(Image(400, 300), same, classes, {.labels = LabelText::kNone});
  for (const int y : {99, 101, 200}) EXPECT_EQ(pixel(bare, behind, y), black) << y;
}

// The label of the first object would cover the second one above it, so it stands below.
TEST(Overlay, LabelsDoNotCoverOtherObjects) {
  const std::vector<std::string> classes = {"cat", "dog"};
  const Detections two = {{{100, 100, 200, 150}, 0, 0.9f, {}}, {{90, 60, 210, 98}, 1, 0.5f, {}}};
  const Color black = {0, 0, 0};
  const Image drawn = draw_detections(Image(640, 480), two, classes, {});
  for (int x = 91; x < 209; ++x) {
    for (int y = 61; y < 97; ++y) ASSERT_EQ(pixel(drawn, x, y), black) << x << ", " << y;
  }
  EXPECT_NE(pixel(drawn, 100, 150), black);
  // An object that the box lies in is no obstacle.
  const Detections inside = {{{100, 100, 200, 150}, 0, 0.9f, {}},
                             {{50, 50, 400, 400}, 1, 0.5f, {}}};
  EXPECT_NE(pixel(draw_detections(Image(640, 480), inside, classes, {}), 100, 99), black);
  // No room but inside of an object that the label would hide: none.
  Detections full = {{{0, 0, 640, 20}, 0, 0.9f, {}}, {{0, 20, 640, 480}, 0, 0.8f, {}}};
  const Image crowded = draw_detections(Image(640, 480), full, classes, {});
  for (int x = 1; x < 639; ++x) ASSERT_EQ(pixel(crowded, x, 5), black) << x;
}

TEST(Overlay, LabelsByTheNumberOfObjects) {
  const auto objects = [](int count) {
    Detections all;
    for (int i = 0; i < count; ++i) {
      const float x = static_cast<float>(100 * (i % 5)), y = static_cast<float>(60 * (i / 5) + 20);
      all.push_back({{x, y, x + 80, y + 30}, i % 2, 0.9f, {}});
    }
    return all;
  };
  const auto drawn = [](const Detections& all, const std::vector<std::string>& classes,
                        LabelText labels) {
    return draw_detections(Image(640, 480), all, classes, {.labels = labels});
  };
  const std::vector<std::string> one = {"nucleus"}, two = {"cat", "dog"};
  using enum LabelText;
  EXPECT_EQ(drawn(objects(12), two, kAuto), drawn(objects(12), two, kFull));
  EXPECT_EQ(drawn(objects(13), two, kAuto), drawn(objects(13), two, kShort));
  EXPECT_EQ(drawn(objects(12), one, kAuto), drawn(objects(12), one, kFull));
  EXPECT_EQ(drawn(objects(13), one, kAuto), drawn(objects(13), one, kNone));
  for (const auto& classes : {one, two}) {
    EXPECT_NE(drawn(objects(3), classes, kShort), drawn(objects(3), classes, kFull));
    EXPECT_NE(drawn(objects(3), classes, kShort), drawn(objects(3), classes, kNone));
  }
  EXPECT_EQ(parse_label_text("auto"), kAuto);
  EXPECT_EQ(parse_label_text("none"), kNone);
  EXPECT_EQ(parse_label_text("short"), kShort);
  EXPECT_EQ(parse_label_text("full"), kFull);
  EXPECT_EQ(parse_label_text("Full"), std::nullopt);
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

TEST(Overlay, LabelsAtTheRightBorderAreWhole) {
  const std::vector<std::string> classes = {"elephant", "dog"};
  const Detections one = {{{600, 100, 639, 200}, 0, 0.9f, {}}};
  const Image drawn = draw_detections(Image(640, 480), one, classes, {});
  const int left = 640 - text_width("elephant 0.90") - 2, top = 100 - kFontHeight - 2;
  ASSERT_LT(left, 599);
  EXPECT_NE(pixel(drawn, left, top), (Color{0, 0, 0}));
  EXPECT_EQ(pixel(drawn, left, top), pixel(drawn, 639, top));
  EXPECT_EQ(pixel(drawn, left - 1, top), (Color{0, 0, 0}));
}

// A segmentation is drawn in the colours of the class names.
TEST(Overlay, ClassesHaveTheColoursOfTheirNames) {
  LabelMap map(600, 400, 0);
  for (int y = 0; y < 400; ++y) std::fill_n(map.row(y) + 300, 300, uint8_t{1});
  const std::vector<std::string> classes = {"Tree", "Sky"};
  const Image drawn = draw_segmentation(Image(600, 400), map, classes,
                                        {.opacity = 1, .legend = false, .contours = false});
  EXPECT_EQ(pixel(drawn, 100, 100), class_palette(2, classes)[0]);
  EXPECT_EQ(pixel(drawn, 400, 100), class_palette(2, classes)[1]);
}

}  // namespace
}  // namespace vig::test
