// Limits of COCO's annotations, each at its last good value and at the first bad one.
#include "vig/data/coco_file.h"

#include <gtest/gtest.h>

#include "data/coco_scene.h"
#include "support/errors.h"

namespace vig::test {
namespace {

// One image of 40 x 36 pixels with one object.
CocoFile parse_object(const std::string& box, const std::string& more = "") {
  static std::string text;  // which the result refers to
  text = coco_json({coco_image(1, "a.png")}, {coco_object(5, 1, 3, box, more)});
  return parse_coco("x.json", text);
}

TEST(CocoFile, BoxesMustOverlapTheImage) {
  for (const char* box : {"[40,1,5,5]", "[-5,1,5,5]", "[1,36,5,5]", "[1,-5,5,5]"}) {
    const CocoFile file = parse_object(box);
    EXPECT_TRUE(file.annotations.empty()) << box;
    ASSERT_EQ(file.problems.problem_count, 1u) << box;
    EXPECT_NE(file.problems.problems[0].find("lies outside of its image of 40x36"),
              std::string::npos)
        << file.problems.problems[0];
  }
  for (const char* box : {"[39.5,1,5,5]", "[-4.5,1,5,5]", "[1,35.5,5,5]", "[1,-4.5,5,5]"}) {
    EXPECT_EQ(parse_object(box).annotations.size(), 1u) << box;
  }
}

TEST(CocoFile, CoordinatesOfBoxesAreBounded) {
  for (const char* box :
       {"[1e308,1,1e308,5]", "[-1e308,1,1e308,5]", "[1,-1.7e308,5,1.7e308]", "[1,1,1e39,1e39]",
        "[16777217,1,5,5]", "[1,-16777217,5,5]", "[1,1,16777217,5]", "[1,1,5,16777217]"}) {
    const CocoFile file = parse_object(box);
    EXPECT_TRUE(file.annotations.empty()) << box;
    ASSERT_EQ(file.problems.problem_count, 1u) << box;
    const std::string& problem = file.problems.problems[0];
    EXPECT_NE(problem.find("x.json: annotation 5: a box of x "), std::string::npos) << problem;
    EXPECT_NE(problem.find("from -16777216 to 16777216"), std::string::npos) << problem;
    for (const char* word : {"nan", "inf"}) {
      EXPECT_EQ(problem.find(word), std::string::npos) << problem;
    }
  }
  const CocoFile file = parse_object("[-16777216,1,16777216,16777216]");
  ASSERT_EQ(file.problems.problem_count, 1u);
  EXPECT_NE(file.problems.problems[0].find("lies outside"), std::string::npos);
  EXPECT_EQ(parse_object("[-1,-1,16777216,16777216]").annotations.size(), 1u);
}

TEST(CocoFile, DetectorsLearnFromObjectsOfAPixelOrMore) {
  const auto learnt = [](const std::string& box, const std::string& more = "") {
    const CocoFile file = parse_object(box, more);
    EXPECT_EQ(file.annotations.size(), 1u);
    return file.annotations.at(0).for_training;
  };
  EXPECT_TRUE(learnt("[1,1,1,1]"));
  EXPECT_FALSE(learnt("[1,1,0.9,9]"));
  EXPECT_FALSE(learnt("[1,1,9,0.9]"));
  EXPECT_TRUE(learnt("[1,1,9,9]", R"(,"area":0.1)"));
  EXPECT_FALSE(learnt("[1,1,9,9]", R"(,"area":-1)"));
  EXPECT_TRUE(learnt("[1,1,9,9]", R"(,"ignore":false)"));
  EXPECT_FALSE(learnt("[1,1,9,9]", R"(,"ignore":true)"));
}

TEST(CocoFile, FieldsThatMustBeThere) {
  const auto refused = [](const std::string& json, const std::string& words) {
    expect_error(ErrorCode::kInput, {"x.json: " + words + " before byte "},
                 [&] { parse_coco("x.json", json); });
  };
  const std::string image = coco_image(1, "a.png");
  const auto without = [](std::string text, const std::string& field) {
    const size_t at = text.find("\"" + field + "\"");
    return text.replace(at + 1, field.size(), "other");
  };
  for (const char* field : {"id", "file_name", "width", "height"}) {
    refused(coco_json({without(image, field)}, {}), fmt::format("an image without \"{}\"", field));
  }
  for (const char* field : {"id", "name"}) {
    refused(coco_json({image}, {}, without(R"({"id":1,"name":"x"})", field)),
            fmt::format("a category without \"{}\"", field));
  }
  for (const char* field : {"image_id", "category_id", "bbox"}) {
    refused(coco_json({image}, {without(coco_object(1, 1, 3, "[1,1,5,5]"), field)}),
            fmt::format("an annotation without \"{}\"", field));
  }
  // Ids of annotations are for messages alone.
  EXPECT_EQ(parse_coco("x", coco_json({image}, {without(coco_object(1, 1, 3, "[1,1,5,5]"), "id")}))
                .annotations.size(),
            1u);
}

TEST(CocoFile, SidesAndPixelsAreBounded) {
  const auto pixels = [](int width, int height) {
    const CocoFile file =
        parse_coco("x.json", coco_json({coco_image(1, "a.png", width, height)}, {}));
    return int64_t{file.images[0].width} * file.images[0].height;
  };
  EXPECT_EQ(pixels(1 << 20, 1), 1 << 20);
  EXPECT_EQ(pixels(1, 1 << 20), 1 << 20);
  EXPECT_EQ(pixels(65535, 65537), 4294967295);
  for (const auto& [width, height] : {std::pair{(1 << 20) + 1, 1}, {1, (1 << 20) + 1}}) {
    expect_error(ErrorCode::kInput, {"x.json", "from 1 to 1048576"},
                 [&, w = width, h = height] { pixels(w, h); });
  }
  expect_error(ErrorCode::kInput, {"65536x65536", "2^32"}, [&] { pixels(65536, 65536); });
}

TEST(CocoFile, CategoriesAreBounded) {
  std::string categories;
  for (size_t i = 0; i < CocoFile::kMaxCategories; ++i) {
    categories += fmt::format(R"({{"id":{},"name":""}},)", i);
  }
  const auto parse = [&](const std::string& last) {
    return parse_coco("x.json", coco_json({coco_image(1, "a.png")}, {}, categories + last));
  };
  categories.pop_back();
  EXPECT_EQ(parse("").classes.size(), 100'000u);
  expect_error(ErrorCode::kInput, {"x.json: more than 100000 categories"},
               [&] { parse(R"(,{"id":-1,"name":"one more"})"); });
}

// The polygons of an image share what filling them may cost: an edge costs the columns it crosses
// inside of the image, and one.
TEST(CocoFile, PolygonsOfAImageShareTheirWork) {
  const CocoFile file =
      parse_object("[4,5,10,20]", R"(,"segmentation":[[4,5,14,5,14,25,4,25],[30,1,99,1,99,9]])");
  constexpr uint64_t kCost = (11 + 1 + 11 + 1) + (11 + 1 + 11);
  MaskWork work = {2 * kCost + 1};
  EXPECT_GT(file.mask(file.annotations[0], work).area(), 200);
  EXPECT_EQ(work.columns, kCost + 1);
  file.mask(file.annotations[0], work);
  EXPECT_EQ(work.columns, 1u);
  expect_error(ErrorCode::kInput, {"x.json: annotation 5: polygons that cross more than 8388608"},
               [&] { file.mask(file.annotations[0], work); });
}

}  // namespace
}  // namespace vig::test
