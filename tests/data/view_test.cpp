// Views of training images: image, labels, boxes and masks move together.
#include "vig/data/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "support/errors.h"
#include "vig/data/augment_labels.h"
#include "vig/data/augment_objects.h"
#include "vig/image/preprocess.h"

namespace vig::test {
namespace {

Recipe dense_recipe(int size, int longest) {
  Recipe recipe;
  recipe.framing = Framing::kPad;
  recipe.resize = recipe.crop = size;
  recipe.longest = longest;
  recipe.multiple = 32;
  recipe.interpolation = Interpolation::kBilinear;
  return recipe;
}

// Every pixel has a colour of its own; labels repeat the red.
Image numbered(int width, int height) {
  Image image(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      uint8_t* pixel = image.row(y) + 3 * x;
      pixel[0] = static_cast<uint8_t>((x * 7 + y * 13) % 200);
      pixel[1] = static_cast<uint8_t>(x);
      pixel[2] = static_cast<uint8_t>(y);
    }
  }
  return image;
}

LabelMap red_of(const Image& image) {
  LabelMap map(image.width, image.height);
  for (size_t i = 0; i < map.labels.size(); ++i) map.labels[i] = image.rgb[3 * i];
  return map;
}

TEST(View, SidesFitBothLimits) {
  const Recipe coco = dense_recipe(800, 1333);
  EXPECT_EQ(fitted_sides(coco, 1, {640, 480}), (Sides{1067, 800}));
  EXPECT_EQ(fitted_sides(coco, 1, {480, 640}), (Sides{800, 1067}));
  EXPECT_EQ(fitted_sides(coco, 1, {2000, 500}), (Sides{1333, 333}));
  EXPECT_EQ(fitted_sides(coco, 0.5f, {640, 480}), (Sides{533, 400}));
  EXPECT_EQ(fitted_sides(dense_recipe(1, 1), 0.01f, {3000, 1}), (Sides{1, 1}));
  // The same as the image that inference sees, before it is padded.
  for (const Sides sides : {Sides{61, 38}, {333, 777}, {1024, 1024}, {5, 900}}) {
    const Placement placement = place(coco, sides.width, sides.height);
    EXPECT_EQ(fitted_sides(coco, 1, sides), (Sides{static_cast<int>(placement.resized_width),
                                                   static_cast<int>(placement.resized_height)}));
  }
}

TEST(View, MovesImageAndLabelsAlike) {
  const Image image = numbered(23, 17);
  const LabelMap labels = red_of(image);
  for (int form = 0; form < 8; ++form) {
    View view{{23, 17}, {23, 17}, {4, 3, 15, 9}, (form & 1) != 0, (form & 2) != 0, (form & 4) != 0};
    const Image seen = view.apply(image, Interpolation::kBilinear);
    EXPECT_EQ(seen.width, (form & 4) != 0 ? 9 : 15);
    EXPECT_EQ(seen.width, view.width());
    EXPECT_EQ(seen.height, view.height());
    EXPECT_EQ(view.labels(labels), red_of(seen)) << form;
    // The corner that is shown at the top left.
    EXPECT_EQ(seen.rgb[1], view.mirror_x ? 18 : 4);
    EXPECT_EQ(seen.rgb[2], view.mirror_y ? 11 : 3);
  }
}

TEST(View, NearestLabelsAreThoseBelowThePosition) {
  LabelMap map(3, 1);
  map.labels = {7, 8, 9};
  const View larger{{3, 1}, {7, 1}, {0, 0, 7, 1}};
  EXPECT_EQ(larger.labels(map).labels, (std::vector<uint8_t>{7, 7, 7, 8, 8, 9, 9}));
  const View smaller{{3, 1}, {2, 1}, {0, 0, 2, 1}};
  EXPECT_EQ(smaller.labels(map).labels, (std::vector<uint8_t>{7, 8}));
}

Objects one_object(int width, int height, const Box& box) {
  std::vector<uint8_t> pixels(static_cast<size_t>(width * height));
  for (int y = static_cast<int>(box.y1); y < static_cast<int>(box.y2); ++y) {
    for (int x = static_cast<int>(box.x1); x < static_cast<int>(box.x2); ++x) {
      pixels[static_cast<size_t>(y * width + x)] = 1;
    }
  }
  Objects objects;
  objects.objects.push_back({box, 3, false, box.area(), encode_mask(pixels, width, height)});
  return objects;
}

TEST(View, MovesBoxesAndMasksAlike) {
  const Objects objects = one_object(40, 30, {6, 4, 20, 28});
  for (int form = 0; form < 8; ++form) {
    for (const int scale : {1, 3}) {
      View view{
          {40, 30},        {40 * scale, 30 * scale}, {2 * scale, 6 * scale, 30 * scale, 20 * scale},
          (form & 1) != 0, (form & 2) != 0,          (form & 4) != 0};
      const PlacedObjects placed = place_objects(objects, view);
      EXPECT_EQ(placed.width, view.width());
      ASSERT_EQ(placed.objects.size(), 1u);
      const PlacedObject& object = placed.objects[0];
      EXPECT_EQ(object.label, 3);
      EXPECT_EQ(object.box.area(), static_cast<float>(14 * 20 * scale * scale)) << "clipped";
      for (int y = 0; y < view.height(); ++y) {
        for (int x = 0; x < view.width(); ++x) {
          const float cx = static_cast<float>(x) + 0.5f, cy = static_cast<float>(y) + 0.5f;
          const bool inside =
              cx > object.box.x1 && cx < object.box.x2 && cy > object.box.y1 && cy < object.box.y2;
          ASSERT_EQ(object.mask.at(x, y), inside) << form << " " << x << " " << y;
        }
      }
    }
  }
}

TEST(View, MasksMayReachOverTheirBoxes) {
  Objects objects = one_object(40, 30, {6, 4, 20, 28});
  objects.objects[0].box = {7, 5, 19, 27};
  for (const bool transpose : {false, true}) {
    const View view{{40, 30}, {40, 30}, {0, 0, 40, 30}, false, false, transpose};
    const PlacedObjects placed = place_objects(objects, view);
    ASSERT_EQ(placed.objects.size(), 1u);
    EXPECT_EQ(placed.objects[0].box.area(), 12.0f * 22.0f);
    EXPECT_EQ(std::ranges::count(placed.objects[0].mask.pixels, 1), 14 * 24);
  }
}

TEST(View, LeavesOutWhatIsNotSeen) {
  Objects objects = one_object(40, 30, {30, 20, 38, 28});
  objects.objects.push_back(objects.objects[0]);
  objects.objects[1].crowd = true;
  const View all{{40, 30}, {40, 30}, {0, 0, 40, 30}};
  EXPECT_EQ(place_objects(objects, all).objects.size(), 1u) << "no crowds";
  const View corner{{40, 30}, {40, 30}, {0, 0, 30, 30}};
  EXPECT_TRUE(place_objects(objects, corner).objects.empty()) << "outside";
  const View sliver{{40, 30}, {20, 15}, {0, 0, 15, 15}};
  EXPECT_TRUE(place_objects(objects, sliver).objects.empty());
  objects.objects[0].mask = {};
  const PlacedObjects bare = place_objects(objects, all);
  ASSERT_EQ(bare.objects.size(), 1u) << "objects may have no mask";
  EXPECT_TRUE(bare.objects[0].mask.pixels.empty());
  objects.objects[0].mask = encode_mask(std::vector<uint8_t>(6, 1), 3, 2);
  expect_error(ErrorCode::kInput, {"mask of 3x2", "40x30"}, [&] { place_objects(objects, all); });
}

TEST(View, IsDrawnFromTheStreamAlone) {
  const Image image = numbered(50, 40);
  const Objects objects = one_object(50, 40, {5, 5, 25, 30});
  ViewOptions options;
  options.resize_min = 0.5f;
  options.resize_max = 2.0f;
  options.flip_vertical = options.transpose = 0.5f;
  options.photometric = true;
  const Recipe recipe = dense_recipe(40, 64);
  const auto run = [&](uint64_t seed) {
    std::vector<float> out(64 * 64 * 3, 9.0f);
    augment_objects(image, objects, recipe, options, {64, 64}, RandomStream(seed), out.data());
    return out;
  };
  EXPECT_EQ(run(1), run(1));
  std::set<std::vector<float>> seen;
  for (uint64_t seed = 0; seed < 12; ++seed) seen.insert(run(seed));
  EXPECT_EQ(seen.size(), 12u);
}

// Which of the eight positions an image is seen in.
int form_of(const View& view) {
  return (view.mirror_x ? 1 : 0) + (view.mirror_y ? 2 : 0) + (view.transpose ? 4 : 0);
}

TEST(View, DrawsEachProbabilityByItself) {
  const Recipe recipe = dense_recipe(64, 64);
  const auto draw = [&](const ViewOptions& options, uint64_t seed) {
    return draw_view(recipe, options, {50, 40}, {64, 64}, RandomStream(seed));
  };
  for (int form = 0; form < 8; ++form) {
    ViewOptions options;
    options.flip = (form & 1) != 0 ? 1.0f : 0.0f;
    options.flip_vertical = (form & 2) != 0 ? 1.0f : 0.0f;
    options.transpose = (form & 4) != 0 ? 1.0f : 0.0f;
    for (uint64_t seed = 0; seed < 5; ++seed) EXPECT_EQ(form_of(draw(options, seed)), form);
  }
  ViewOptions even;
  even.flip = even.flip_vertical = even.transpose = 0.5f;
  even.resize_min = 0.5f;
  even.resize_max = 2.0f;
  std::vector<int> forms(8);
  int smallest = 1000, largest = 0;
  for (uint64_t seed = 0; seed < 800; ++seed) {
    const View view = draw(even, seed);
    ++forms[static_cast<size_t>(form_of(view))];
    smallest = std::min(smallest, view.resized.width);
    largest = std::max(largest, view.resized.width);
  }
  for (const int count : forms) EXPECT_NEAR(count, 100, 50);  // five deviations
  EXPECT_GE(smallest, 32);
  EXPECT_LE(smallest, 33);
  EXPECT_GE(largest, 127);
  EXPECT_LE(largest, 128);
}

TEST(View, PartsLieAnywhere) {
  View view{{64, 62}, {64, 62}, {0, 0, 62, 61}};
  std::set<std::pair<int, int>> positions;
  RandomStream stream(1);
  for (int i = 0; i < 200; ++i) {
    draw_position(view, stream);
    positions.insert({view.part.x, view.part.y});
  }
  EXPECT_EQ(positions,
            (std::set<std::pair<int, int>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}}));
}

TEST(View, SmallerImagesLieAtTheTopLeftOfTheCanvas) {
  const Image image = numbered(5, 3);
  const Recipe recipe = dense_recipe(5, 5);
  std::vector<float> out(8 * 6 * 3, 9.0f), expected(5 * 3 * 3);
  write_canvas(image, recipe, {8, 6}, out.data());
  normalise(image, recipe, expected.data());
  for (size_t y = 0; y < 6; ++y) {
    for (size_t k = 0; k < 24; ++k) {
      EXPECT_EQ(out[y * 24 + k], y < 3 && k < 15 ? expected[y * 15 + k] : 0.0f) << k << " " << y;
    }
  }
}

// A white object on black: what is white in the input is what its mask and box say.
TEST(AugmentObjects, TheImageMovesWithItsObjects) {
  Image image(60, 50);
  for (int y = 10; y < 40; ++y) std::fill_n(image.row(y) + 3 * 20, 3 * 25, uint8_t{255});
  const Objects objects = one_object(60, 50, {20, 10, 45, 40});
  Recipe recipe = dense_recipe(50, 60);
  recipe.mean = {0, 0, 0};
  ViewOptions options;
  options.flip = options.flip_vertical = options.transpose = 0.5f;
  std::set<std::pair<float, float>> corners;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<float> out(44 * 36 * 3, 9.0f);
    const PlacedObjects placed =
        augment_objects(image, objects, recipe, options, {44, 36}, RandomStream(seed), out.data());
    EXPECT_EQ(placed.width, 44);
    EXPECT_EQ(placed.height, 36);
    ASSERT_EQ(placed.objects.size(), 1u);
    const PlacedObject& object = placed.objects[0];
    float white = 0;
    for (int y = 0; y < 36; ++y) {
      for (int x = 0; x < 44; ++x) {
        const bool bright = out[static_cast<size_t>(3 * (y * 44 + x))] > 0;
        ASSERT_EQ(object.mask.at(x, y), bright) << seed << ": " << x << ", " << y;
        white += bright ? 1 : 0;
      }
    }
    EXPECT_EQ(object.box.area(), white) << seed;
    corners.insert({object.box.x1, object.box.y1});
  }
  EXPECT_GT(corners.size(), 16u) << "parts lie anywhere, besides eight positions";
}

TEST(AugmentObjects, ColoursAreDistortedWhereAskedFor) {
  const Image image = numbered(40, 40);
  const Recipe recipe = dense_recipe(40, 40);
  const auto run = [&](bool photometric, bool labels) {
    ViewOptions options;
    options.photometric = photometric;
    std::vector<float> out(40 * 40 * 3);
    if (labels) {
      augment_labels(image, red_of(image), recipe, options, RandomStream(1), out.data());
    } else {
      augment_objects(image, {}, recipe, options, {40, 40}, RandomStream(1), out.data());
    }
    return out;
  };
  for (const bool labels : {false, true}) EXPECT_NE(run(false, labels), run(true, labels));
  EXPECT_EQ(run(true, false), run(true, true));
}

TEST(View, FitsACanvasThatIsNotSquare) {
  const Recipe recipe = dense_recipe(200, 200);
  ViewOptions options;
  for (const float transpose : {0.0f, 1.0f}) {
    options.transpose = transpose;
    const View view = draw_view(recipe, options, {100, 100}, {64, 32}, RandomStream(1));
    EXPECT_EQ(view.width(), 64);
    EXPECT_EQ(view.height(), 32);
  }
}

TEST(AugmentLabels, PadsWithZerosAndNoLabel) {
  const Image image = numbered(64, 20);
  ViewOptions options;
  options.flip = 0;
  Recipe recipe = dense_recipe(64, 64);
  std::vector<float> out(64 * 64 * 3, 9.0f);
  const LabelMap target =
      augment_labels(image, red_of(image), recipe, options, RandomStream(1), out.data());
  ASSERT_EQ(target.width, 64);
  ASSERT_EQ(target.height, 64);
  std::vector<float> expected(64 * 20 * 3);
  normalise(image, recipe, expected.data());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out.begin()));
  EXPECT_TRUE(std::all_of(out.begin() + 64 * 20 * 3, out.end(), [](float x) { return x == 0; }));
  EXPECT_TRUE(std::equal(target.labels.begin(), target.labels.begin() + 64 * 20,
                         red_of(image).labels.begin()));
  EXPECT_TRUE(std::all_of(target.labels.begin() + 64 * 20, target.labels.end(),
                          [](uint8_t label) { return label == kNoLabel; }));
}

TEST(AugmentLabels, AvoidsPartsOfOneClass) {
  // Class 1 has the left half: of parts drawn once a quarter has between 25 % and 75 % of it.
  const Image image = numbered(200, 200);
  LabelMap labels(200, 200, 0);
  for (int y = 0; y < 200; ++y) std::fill_n(labels.row(y), 100, uint8_t{1});
  ViewOptions options;
  const Recipe recipe = [] {
    Recipe r = dense_recipe(200, 200);
    r.crop = 64;
    return r;
  }();
  std::vector<float> out(64 * 64 * 3);
  const auto mixed = [&](float most) {
    options.one_class_most = most;
    int count = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      const LabelMap target =
          augment_labels(image, labels, recipe, options, RandomStream(seed), out.data());
      const auto ones = std::ranges::count(target.labels, 1);
      count += ones > 0.25 * 64 * 64 && ones < 0.75 * 64 * 64 ? 1 : 0;
    }
    return count;
  };
  EXPECT_GT(mixed(0.75f), 170) << "ten tries";
  EXPECT_LT(mixed(1.0f), 140) << "any two classes will do";
  const LabelMap other(3, 3);
  expect_error(ErrorCode::kInput, {"label map of 3x3", "200x200"},
               [&] { augment_labels(image, other, recipe, options, RandomStream(1), out.data()); });
}

// Stripes: every part has half of each class, which is as much as one class may have at most, so
// all ten positions are tried and the last one is taken.
TEST(AugmentLabels, TriesTenPositions) {
  const Image image = numbered(100, 100);
  LabelMap labels(100, 100, 0);
  for (int y = 0; y < 100; y += 2) std::fill_n(labels.row(y), 100, uint8_t{1});
  Recipe recipe = dense_recipe(100, 100);
  recipe.crop = 64;
  ViewOptions options;
  options.flip = 0;
  std::vector<float> out(64 * 64 * 3), expected(out.size());
  for (const auto& [most, tries] : {std::pair{0.5f, 10}, {0.51f, 1}}) {
    options.one_class_most = most;
    const RandomStream stream(7);
    augment_labels(image, labels, recipe, options, stream, out.data());
    View view = draw_view(recipe, options, {100, 100}, {64, 64}, stream);
    RandomStream positions = stream.fork("place");
    for (int i = 0; i < tries; ++i) draw_position(view, positions);
    write_canvas(view.apply(image, recipe.interpolation), recipe, {64, 64}, expected.data());
    EXPECT_EQ(out, expected) << most;
  }
}

TEST(AugmentLabels, PixelsWithoutALabelAreNoClass) {
  // Every other column has class 1. The rest is class 0 in the right half and unlabelled in the
  // left one, where a quarter of the parts lies.
  const Image image = numbered(200, 200);
  LabelMap labels(200, 200, 1);
  for (int y = 0; y < 200; ++y) {
    for (int x = 0; x < 200; x += 2) labels.row(y)[x] = x < 100 ? kNoLabel : uint8_t{0};
  }
  Recipe recipe = dense_recipe(200, 200);
  recipe.crop = 64;
  ViewOptions options;
  options.one_class_most = 1;
  std::vector<float> out(64 * 64 * 3);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const LabelMap target =
        augment_labels(image, labels, recipe, options, RandomStream(seed), out.data());
    EXPECT_GT(std::ranges::count(target.labels, 0), 0) << seed;
  }
}

TEST(View, OptionsAreChecked) {
  const auto refused = [](const std::string& words, float ViewOptions::*number, float value) {
    ViewOptions options;
    options.*number = value;
    expect_error(ErrorCode::kUsage, {"augmentation: " + words},
                 [&] { check_view_options(options); });
  };
  refused("resize-min is 0, expected 0.01 to 100", &ViewOptions::resize_min, 0);
  refused("resize-max is 0.5, expected 1 to 100", &ViewOptions::resize_max, 0.5f);
  refused("resize-max is 101", &ViewOptions::resize_max, 101);
  for (const auto& [name, number] : std::vector<std::pair<std::string, float ViewOptions::*>>{
           {"flip", &ViewOptions::flip},
           {"flip-vertical", &ViewOptions::flip_vertical},
           {"transpose", &ViewOptions::transpose},
           {"one-class-most", &ViewOptions::one_class_most}}) {
    refused(name + " is 2, expected 0 to 1", number, 2);
    refused(name + " is -1, expected 0 to 1", number, -1);
    refused(name + " is nan, expected 0 to 1", number, std::nanf(""));
  }
}

}  // namespace
}  // namespace vig::test
