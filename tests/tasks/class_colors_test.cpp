#include "vig/tasks/class_colors.h"

#include <gtest/gtest.h>

#include <cmath>

namespace vig::test {
namespace {

using Names = std::vector<std::string>;

const Names kCamVid = {"Sky",        "Building", "Pole", "Road",       "Pavement", "Tree",
                       "SignSymbol", "Fence",    "Car",  "Pedestrian", "Bicyclist"};
const Names kCityscapes = {"road", "sidewalk",      "building",     "wall",       "fence",
                           "pole", "traffic light", "traffic sign", "vegetation", "terrain",
                           "sky",  "person",        "rider",        "car",        "truck",
                           "bus",  "train",         "motorcycle",   "bicycle"};

double apart(const Color& a, const Color& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

Color color_of(const std::string& name) { return class_palette(1, Names{name})[0]; }

TEST(ClassColors, IndicesAreDistinguishable) {
  const std::vector<Color> palette = class_palette(150);
  for (size_t i = 0; i < 20; ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_GT(apart(palette[i], palette[j]), 25) << i << " " << j;
  }
  for (size_t i = 1; i < palette.size(); ++i) EXPECT_GT(apart(palette[i], palette[i - 1]), 90) << i;
  EXPECT_EQ(class_color(7), palette[7]);
}

TEST(ClassColors, CommonNamesHaveTheColoursThatPeopleExpect) {
  const Color sky = color_of("sky"), tree = color_of("tree"), road = color_of("road");
  EXPECT_GT(sky[2], sky[1]);
  EXPECT_GT(sky[1], sky[0]);
  EXPECT_GT(sky[2], 200);
  EXPECT_GT(tree[1], 2 * tree[0]);
  EXPECT_GT(tree[1], 2 * tree[2]);
  EXPECT_LT(apart(road, {road[1], road[1], road[1]}), 12);  // grey
  EXPECT_GT(color_of("water")[2], 150);
  EXPECT_GT(color_of("pedestrian")[0], 200);
}

TEST(ClassColors, NamesAreComparedByTheirLetters) {
  for (const char* name : {"SKY", "Sky", " sky", "sky, heavens", "sky;heavens"}) {
    EXPECT_EQ(color_of(name), color_of("sky")) << name;
  }
  for (const char* name : {"Traffic sign", "traffic_sign", "TrafficSign", "traffic signs"}) {
    EXPECT_EQ(color_of(name), color_of("trafficsign")) << name;
  }
  EXPECT_NE(color_of("trafficsign"), class_color(0));
  EXPECT_EQ(color_of("trees"), color_of("tree"));
  EXPECT_EQ(color_of("bus"), color_of("BUS"));
  // No part of a word, nor a word of the table with its space.
  for (const char* name : {"sk", "ky", "", " ", "7", "s", "skyline", "sky cloud", "\xff"}) {
    EXPECT_EQ(color_of(name), class_color(0)) << name;
  }
}

TEST(ClassColors, ClassesOfADataSetAreToldApart) {
  const Names synonyms = {"tree", "trees", "vegetation", "forest", "palm", "cat", "sky", "Sky"};
  Names mixed = kCityscapes;
  for (const char* name : {"cat", "dog", "desk", "cup", "bag", "box", "hat", "pen"}) {
    mixed.insert(mixed.begin(), name);
  }
  for (const Names& names : {kCamVid, kCityscapes, synonyms, mixed}) {
    const std::vector<Color> palette = class_palette(names.size(), names);
    for (size_t i = 0; i < names.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        EXPECT_GT(apart(palette[i], palette[j]), 25) << names[i] << " " << names[j];
      }
    }
  }
  // A shade of green all the same.
  const Color vegetation = class_palette(3, synonyms)[2];
  EXPECT_GT(vegetation[1], vegetation[0]);
  EXPECT_GT(vegetation[1], vegetation[2]);
}

TEST(ClassColors, OtherNamesHaveTheColoursOfTheirIndices) {
  const Names names = {"ant", "bee", "cat"};
  EXPECT_EQ(class_palette(3, names), class_palette(3));
  EXPECT_EQ(class_palette(3, Names{"ant"}), class_palette(3));
  EXPECT_EQ(class_palette(0, names).size(), 0u);
}

// A label map and its overlay share colours for any number of entries.
TEST(ClassColors, LongerPalettesBeginAlike) {
  Names names = kCamVid;
  for (int i = 0; i < 30; ++i) names.push_back("thing " + std::to_string(i));
  const std::vector<Color> all = class_palette(256, names);
  const std::vector<Color> few = class_palette(names.size(), names);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), all.begin()));
}

}  // namespace
}  // namespace vig::test
