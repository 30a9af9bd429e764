// Where annotations in COCO's JSON and their images lie, and which splits belong together.
#include "vig/data/coco_layout.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "data/coco_scene.h"
#include "data/working_folder.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/tree.h"
#include "vig/data/coco.h"
#include "vig/image/decode.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

const std::string kImage = png_bytes(Image(40, 36));
const std::string kJson = coco_json({coco_image(1, "a.png")}, {coco_object(1, 1, 3, "[1,1,5,5]")});

// COCO's own archives hold annotations of other tasks in the same folder, some of them of splits
// that have no objects.
TEST(CocoLayout, AnnotationsOfOtherTasksAreNoSplits) {
  const TempDir folder;
  write_files(folder.path(),
              {{"annotations/instances_train2017.json", kJson}, {"train2017/a.png", kImage}});
  for (const char* other : {"captions_val2017", "person_keypoints_val2017", "panoptic_val2017",
                            "stuff_val2017", "image_info_test2017"}) {
    write_file(folder / "annotations" / (std::string(other) + ".json"), "{}");
  }
  const CocoSplits splits = open_coco(folder.path().string());
  EXPECT_EQ(splits.there, Names{"train"});
  EXPECT_EQ(splits.train->load(0).image->width, 40);
}

TEST(CocoLayout, ImagesMayLieElsewhere) {
  const TempDir folder;
  write_files(folder.path(), {{"json/annotations/instances_train.json", kJson},
                              {"images/outer/train/a.png", kImage},
                              {"images/outer/train/b.png", kImage}});
  const std::string json = (folder / "json").string();
  EXPECT_FALSE(survives([&] { open_coco(json).train->load(0); }));
  const CocoDataset data = *open_coco(json, {.images = (folder / "images").string()}).train;
  EXPECT_EQ(data.load(0).image->width, 40);
  EXPECT_EQ(data.path(0), (folder / "images/outer/train/a.png").string());
}

TEST(CocoLayout, PathsOfImagesThatAreThereAndMissing) {
  const TempDir folder;
  write_files(folder.path(),
              {{"x.json", coco_json({coco_image(1, "sub/a.png"), coco_image(2, "gone.png")}, {})},
               {"sub/a.png", kImage}});
  const CocoDataset data = *open_coco((folder / "x.json").string()).whole;
  EXPECT_EQ(data.path(0), (folder / "sub/a.png").string());
  EXPECT_EQ(data.location(0), data.path(0));
  EXPECT_EQ(data.path(1), (folder / "gone.png").string());
  EXPECT_EQ(data.location(1), data.path(1));
}

// A file that is named without a folder lies in the working folder.
TEST(CocoLayout, FilesOfTheWorkingFolder) {
  const TempDir folder;
  write_files(folder.path(), {{"data/annotations/instances_train.json", kJson},
                              {"data/train/a.png", kImage},
                              {"data/alone.json", kJson},
                              {"data/a.png", kImage},
                              {"beside/train/a.png", png_bytes(Image(1, 1))}});
  const auto width = [](const std::string& path) {
    return open_coco(path).whole->load(0).image->width;
  };
  const WorkingFolder root(folder / "data");
  EXPECT_EQ(width("alone.json"), 40);
  EXPECT_EQ(width("./alone.json"), 40);
  EXPECT_EQ(width("annotations/instances_train.json"), 40);
  EXPECT_EQ(width("./annotations/instances_train.json"), 40);
  const WorkingFolder inside(folder / "data/annotations");
  EXPECT_EQ(width("instances_train.json"), 40);
  EXPECT_EQ(width("./instances_train.json"), 40);
}

// The ids of categories appear in detections, so they must agree like names.
TEST(CocoLayout, SplitsHaveTheSameIdsAndNamesOfCategories) {
  const auto open = [](const std::string& categories) {
    const TempDir folder;
    write_files(
        folder.path(),
        {{"train.json", coco_json({coco_image(1, "a.png")}, {}, R"({"id":3,"name":"ant"})")},
         {"val.json", coco_json({coco_image(1, "a.png")}, {}, categories)}});
    return open_coco(folder.path().string()).classes();
  };
  EXPECT_EQ(open(R"({"id":3,"name":"ant"})"), Names{"ant"});
  for (const char* other : {R"({"id":4,"name":"ant"})", R"({"id":3,"name":"bee"})"}) {
    expect_error(ErrorCode::kInput, {"different categories: 1 (ant) and 1 ("},
                 [&] { open(other); });
  }
}

TEST(CocoLayout, NamesThatLeaveTheirFolderAreRefused) {
  for (const char* name :
       {"..", "../a.png", "sub/../../a.png", "sub/../a.png", "sub/..", "/a.png", "", "./", "."}) {
    const TempDir folder;
    write_files(folder.path(), {{"in/x.json", coco_json({coco_image(1, name)}, {})},
                                {"in/a.png", kImage},
                                {"a.png", kImage}});
    expect_error(ErrorCode::kInput, {"x.json: the image", "lies outside of its folder"},
                 [&] { open_coco((folder / "in/x.json").string()); });
  }
}

TEST(CocoLayout, DetectorsLearnFromImagesOf32PixelsOrMore) {
  const TempDir folder;
  write_file(folder / "x.json",
             coco_json({coco_image(1, "a.png", 32, 32), coco_image(2, "a.png", 31, 99)},
                       {coco_object(1, 1, 3, "[1,1,5,5]"), coco_object(2, 2, 3, "[1,1,5,5]")}));
  const CocoDataset data = *open_coco((folder / "x.json").string()).whole;
  const CocoDataset training = data.for_training();
  ASSERT_EQ(training.size(), 1u);
  EXPECT_EQ(training.image_id(0), 1);
  const std::vector<size_t> wrong = {2};
  expect_error(ErrorCode::kUsage, {"sample 2 of 2"}, [&] { data.subset(wrong); });
}

// Annotations were drawn on the image as it is stored.
TEST(CocoLayout, OrientationIsNotApplied) {
  const fs::path turned = fs::path(kFixtures) / "image/photos/hopper_orient6.webp";
  const Image stored = read_image(turned.string(), {.apply_orientation = false});
  ASSERT_NE(stored, read_image(turned.string()));
  const TempDir folder;
  fs::copy_file(turned, folder / "a.webp");
  write_file(folder / "x.json",
             coco_json({coco_image(1, "a.webp", stored.width, stored.height)}, {}));
  CocoDataset data = *open_coco((folder / "x.json").string()).whole;
  EXPECT_EQ(check(data).left_out, 0u);
  EXPECT_EQ(*data.load(0).image, stored);
}

}  // namespace
}  // namespace vig::test
