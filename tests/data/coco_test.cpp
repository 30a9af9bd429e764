#include "vig/data/coco.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "data/coco_scene.h"
#include "support/errors.h"
#include "support/files.h"
#include "vig/data/target.h"

namespace vig::test {
namespace {

const std::string kCocoImage = png_bytes(Image(40, 36));
const std::string kSquare = R"(,"segmentation":[[4,5,14,5,14,25,4,25]])";

const Objects& objects_of(const Sample& sample) { return target_of<Objects>(sample); }

// Two images with three objects, listed out of order.
std::string small_json() {
  return coco_json(
      {coco_image(7, "b.png"), coco_image(2, "a.png")},
      {coco_object(11, 7, 3, "[4,5,10,20]", kSquare + R"(,"area":190.5)"),
       coco_object(12, 2, 90, "[0,0,40,36]",
                   R"(,"iscrowd":1,"segmentation":{"size":[36,40],"counts":[0,1440]})"),
       coco_object(13, 7, 90, "[1.5,2.5,3,4]",
                   R"(,"segmentation":{"counts":"PP1P]0","size":[36,40]})")});
}

class CocoFolder {
 public:
  explicit CocoFolder(const std::string& json,
                      const Files& files = {{"a.png", kCocoImage}, {"b.png", kCocoImage}}) {
    write_files(folder_.path(), files);
    write_file(folder_ / "x.json", json);
  }
  std::string path() const { return (folder_ / "x.json").string(); }
  CocoDataset open() const { return *open_coco(path()).whole; }

 private:
  TempDir folder_;
};

// What is wrong with the only annotation of a file; it is left out.
std::string problem_of(const std::string& object) {
  const CocoFolder folder(coco_json({coco_image(1, "a.png")}, {object}));
  CocoDataset data = folder.open();
  const DataReport report = check(data);
  EXPECT_EQ(data.size(), 1u);
  EXPECT_TRUE(objects_of(data.load(0)).objects.empty());
  EXPECT_EQ(report.problem_count, 1u) << object;
  EXPECT_EQ(report.left_out, 0u);
  return report.problems.empty() ? "" : report.problems.front();
}

TEST(Coco, ObjectsOfEveryKind) {
  const CocoFolder folder(small_json());
  const CocoDataset data = folder.open();
  EXPECT_EQ(data.classes(), (std::vector<std::string>{"ant", "kite"}));
  EXPECT_EQ(data.category_ids(), (std::vector<int64_t>{3, 90}));
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(data.image_id(0), 2);
  EXPECT_EQ(data.image_id(1), 7);
  EXPECT_TRUE(data.location(0).ends_with("/a.png")) << data.location(0);

  const Objects crowd = objects_of(data.load(0));
  EXPECT_EQ(crowd.image, 2);
  ASSERT_EQ(crowd.objects.size(), 1u);
  EXPECT_TRUE(crowd.objects[0].crowd);
  EXPECT_EQ(crowd.objects[0].label, 1);
  EXPECT_EQ(crowd.objects[0].area, 1440);  // none is given
  EXPECT_EQ(crowd.objects[0].mask.area(), 1440);

  const Objects two = objects_of(data.load(1));
  ASSERT_EQ(two.objects.size(), 2u);
  EXPECT_EQ(two.objects[0].box, (Box{4, 5, 14, 25}));
  EXPECT_EQ(two.objects[0].area, 190.5);
  EXPECT_EQ(two.objects[0].label, 0);
  EXPECT_EQ(two.objects[0].mask.bounds(), (Box{4, 5, 14, 25}));
  EXPECT_EQ(two.objects[0].mask.area(), 200);
  EXPECT_EQ(two.objects[1].box, (Box{1.5f, 2.5f, 4.5f, 6.5f}));
  EXPECT_EQ(two.objects[1].mask.width, 40);
  EXPECT_EQ(data.problems().problem_count, 0u);
}

TEST(Coco, PartsAreUnited) {
  const CocoFolder folder(
      coco_json({coco_image(1, "a.png")},
                {coco_object(1, 1, 3, "[0,0,20,10]",
                             R"(,"segmentation":[[0,0,10,0,10,10,0,10],[5,0,20,0,20,10,5,10]])"),
                 coco_object(2, 1, 3, "[0,0,20,10]", R"(,"segmentation":[])"),
                 coco_object(3, 1, 3, "[0,0,20,10]", R"(,"segmentation":null)"),
                 coco_object(4, 1, 3, "[0,0,20,10]")}));
  const Objects objects = folder.open().objects(0);
  EXPECT_EQ(objects.objects[0].mask.area(), 200);
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(objects.objects[i].mask, Mask()) << i;
}

TEST(Coco, TrainingLeavesOutWhatCannotBeLearnt) {
  const CocoFolder folder(coco_json(
      {coco_image(1, "a.png"), coco_image(2, "a.png"), coco_image(3, "a.png"),
       coco_image(4, "a.png", 40, 31), coco_image(5, "a.png")},
      {coco_object(1, 1, 3, "[4,5,10,20]"), coco_object(2, 1, 3, "[4,5,10,20]", R"(,"ignore":1)"),
       coco_object(3, 1, 3, "[4,5,0.9,20]"), coco_object(4, 1, 3, "[4,5,10,20]", R"(,"area":0)"),
       coco_object(5, 1, 3, "[4,5,10,20]", R"(,"iscrowd":1)"),
       coco_object(6, 2, 3, "[4,5,10,20]", R"(,"iscrowd":1)"),
       coco_object(7, 3, 3, "[4,5,10,20]", R"(,"ignore":true)"),
       coco_object(8, 4, 3, "[4,5,10,20]")}));
  const CocoDataset all = folder.open();
  EXPECT_EQ(all.size(), 5u);
  EXPECT_EQ(all.object_count(0), 5u);
  EXPECT_EQ(all.objects(0).objects.size(), 5u);
  const CocoDataset training = all.for_training();
  ASSERT_EQ(training.size(), 1u);
  EXPECT_EQ(training.image_id(0), 1);
  EXPECT_EQ(training.object_count(0), 2u);
  const Objects objects = training.objects(0);
  ASSERT_EQ(objects.objects.size(), 2u);  // the object and the crowd
  EXPECT_FALSE(objects.objects[0].crowd);
  EXPECT_TRUE(objects.objects[1].crowd);
  const std::vector<size_t> others = {1, 2};
  EXPECT_NE(error_of([&] { all.subset(others).for_training(); }).find("none of its 2 images"),
            std::string::npos);
}

TEST(Coco, WrongAnnotationsAreNamedAndLeftOut) {
  const auto contains = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find("annotation 5: "), std::string::npos) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const auto object = [](const std::string& box, const std::string& more = "") {
    return coco_object(5, 1, 3, box, more);
  };
  contains(problem_of(coco_object(5, 99, 3, "[1,1,5,5]")), "image 99");
  contains(problem_of(coco_object(5, 1, 42, "[1,1,5,5]")), "category 42");
  contains(problem_of(object("[10,10,-5,20]")), "-5");
  contains(problem_of(object("[10,10,0,0]")), "0 by 0");
  contains(problem_of(object("[500,500,50,50]")), "outside");
  contains(problem_of(object("[-50,0,50,50]")), "outside");
  contains(problem_of(object("[1e308,1,1e308,5]")),
           "a box of x 1e+308, y 1, width 1e+308 and height 5, expected numbers from -16777216 to "
           "16777216");
  contains(problem_of(object("[1,1,5,5]", R"(,"segmentation":[[1,1,5,1,5]])")), "5 numbers");
  contains(problem_of(object("[1,1,5,5]", R"(,"segmentation":[[1,1,5,1]])")), "2 corners");
  contains(problem_of(object("[1,1,5,5]", R"(,"segmentation":[[]])")), "0 corners");
  contains(
      problem_of(object("[1,1,5,5]", R"(,"segmentation":{"size":[36,40],"counts":[100,100]})")),
      "200");
  contains(
      problem_of(object("[1,1,5,5]",
                        R"(,"segmentation":{"size":[36,40],"counts":[4294967295,4294967295]})")),
      "8589934590");
  contains(problem_of(object("[1,1,5,5]", R"(,"segmentation":{"size":[40,36],"counts":[1440]})")),
           "36x40");
  contains(
      problem_of(object("[1,1,5,5]", R"(,"segmentation":{"size":[36,40],"counts":"\u007f~"})")),
      "'0' to 'o'");
  contains(problem_of(object("[1,1,5,5]", R"(,"segmentation":{"size":[36,40],"counts":""})")),
           "40x36");
}

// What lies behind a link out of the folder is not opened, although it is an image.
TEST(Coco, LinksOutOfTheFolderAreRefused) {
  namespace fs = std::filesystem;
  const TempDir elsewhere, folder;
  write_files(elsewhere.path(), {{"secret.png", kCocoImage}, {"more/b.png", kCocoImage}});
  write_files(folder.path(), {{"images/good.png", kCocoImage}});
  fs::create_symlink(elsewhere / "secret.png", folder / "images/out.png");
  fs::create_directory_symlink(elsewhere / "more", folder / "images/more");
  fs::create_symlink("good.png", folder / "images/inside.png");
  const std::string json = coco_json({coco_image(1, "good.png"), coco_image(2, "inside.png"),
                                      coco_image(3, "out.png"), coco_image(4, "more/b.png")},
                                     {coco_object(1, 1, 3, "[1,1,5,5]")});
  write_file(folder / "x.json", json);
  const auto expect_two = [](CocoDataset data) {
    ASSERT_EQ(data.size(), 4u);
    EXPECT_EQ(data.load(1).image->width, 40) << "a link that stays inside";
    for (const size_t i : {2, 3}) {
      const std::string why = error_of([&] { data.load(i); });
      EXPECT_NE(why.find("a link out of the folder of its images"), std::string::npos) << why;
      EXPECT_NE(why.find(i == 2 ? "/out.png: " : "/more/b.png: "), std::string::npos) << why;
    }
    const DataReport report = check(data);
    EXPECT_EQ(report.left_out, 2u);
    EXPECT_EQ(data.size(), 2u);
    ASSERT_EQ(report.problem_count, 2u);
    EXPECT_NE(report.problems[0].find("a link out of the folder"), std::string::npos);
  };
  expect_two(*open_coco((folder / "x.json").string()).whole);
  // The folder itself may be named by a link.
  const TempDir names;
  fs::create_directory_symlink(folder.path(), names / "data");
  expect_two(*open_coco((names / "data/x.json").string()).whole);
  // Annotations that were only found in the folder, too.
  fs::rename(folder / "x.json", elsewhere / "train.json");
  fs::create_symlink(elsewhere / "train.json", folder / "train.json");
  const std::string why = error_of([&] { open_coco(folder.path().string()); });
  EXPECT_NE(why.find("/train.json: a link out of "), std::string::npos) << why;
}

TEST(Coco, DamagedFilesThrow) {
  const auto refused = [](const std::string& json, const std::string& word) {
    const CocoFolder folder(json);
    const std::string message = error_of([&] { folder.open(); });
    EXPECT_NE(message.find(word), std::string::npos) << message;
    EXPECT_NE(message.find("x.json: "), std::string::npos) << message;
  };
  const std::string good = small_json();
  for (size_t size = 0; size < good.size(); ++size) {
    error_of([&] { parse_coco_text("x.json", good.substr(0, size)); });
  }
  EXPECT_EQ(parse_coco_text("x.json", good), 3u);
  const auto with = [](const std::string& object) {
    return coco_json({coco_image(1, "a.png")}, {object});
  };
  refused("", "end of the file");
  refused("{}", "images");
  refused("[]", "an object with images");
  refused(good + "x", "the end of the file");
  refused(R"({"images":[],"images":[]})", "twice");
  refused(R"({"images":)" + std::string(100000, '[') + std::string(100000, ']') + "}", "an image");
  refused(R"({"other":)" + std::string(100000, '[') + std::string(100000, ']') + "}", "levels");
  refused(R"({"other":)" + std::string(100000, '[') + "}", "levels");
  refused(coco_json({coco_image(1, "a.png"), coco_image(1, "b.png")}, {}), "two images of id 1");
  refused(coco_json({coco_image(1, "a.png")}, {}, R"({"id":1,"name":"x"},{"id":1,"name":"y"})"),
          "two categories");
  refused(coco_json({coco_image(1, "a.png")}, {}, ""), "categories");
  refused(coco_json({coco_image(1, "../../outside.png")}, {}), "outside of its folder");
  refused(coco_json({coco_image(1, "/etc/passwd")}, {}), "outside of its folder");
  refused(coco_json({coco_image(1, "a/..")}, {}), "outside of its folder");
  refused(coco_json({coco_image(1, "\xff\xfe.png")}, {}), "UTF-8");
  refused(coco_json({coco_image(1, "\\ud800.png")}, {}), "surrogates");
  refused(coco_json({coco_image(1, "a.png", 0)}, {}), "from 1 to");
  refused(coco_json({coco_image(1, "a.png", 1 << 20, 1 << 20)}, {}), "2^32");
  refused(coco_json({R"({"id":1,"file_name":"a.png","width":NaN,"height":160})"}, {}), "NaN");
  refused(coco_json({R"({"id":1.5,"file_name":"a.png","width":4,"height":160})"}, {}),
          "whole number");
  refused(coco_json({R"({"id":1,"width":4,"height":160})"}, {}), "without \"file_name\"");
  refused(with(coco_object(1, 1, 3, "[1,2,3]")), "3 numbers");
  refused(with(coco_object(1, 1, 3, "[1,2,3,4,5]")), "four numbers");
  refused(with(coco_object(1, 1, 3, R"(["a","b","c","d"])")), "four numbers");
  refused(with(coco_object(1, 1, 3, "[1,2,3,1e999]")), "out of range");
  refused(with(coco_object(1, 1, 3, "[1,2,3,01]")), "");
  refused(with(coco_object(1, 1, 3, "[1,2,3,-]")), "four numbers");
  refused(with(coco_object(1, 1, 3, "[1,2,3," + std::string(1000, '1') + "]")), "1000 characters");
  refused(with(coco_object(1, 1, 3, "[1,2,3,4],\"bbox\":[1,2,3,4]")), "\"bbox\" twice");
  refused(with(R"({"id":1,"image_id":1,"category_id":3})"), "without \"bbox\"");
  refused(with(coco_object(1, 1, 3, "[1,2,3,4]", R"(,"iscrowd":2)")), "iscrowd");
  refused(with(coco_object(1, 1, 3, "[1,2,3,4]", R"(,"segmentation":7)")), "polygons");
  refused(with(coco_object(1, 1, 3, "[1,2,3,4]", R"(,"segmentation":[1,2,3,4,5,6])")), "polygon");
  refused(with(coco_object(1, 1, 3, "[1,2,3,4]",
                           R"(,"segmentation":{"size":[36,40],"counts":[-5,1445]})")),
          "-5");
  refused(
      with(coco_object(
          1, 1, 3, "[1,2,3,4]",
          R"(,"segmentation":{"size":[4000000000,4000000000],"counts":[16000000000000000000]})")),
      "4000000000");
  refused(with(coco_object(1, 1, 3, "[1,2,3,4]", R"(,"segmentation":{"size":[36],"counts":[1]})")),
          "two numbers");
  refused(with(coco_object(1, 1, 3, "[1,2,3,4]", R"(,"segmentation":{"counts":[1]})")),
          "size and counts");
}

TEST(Coco, ImagesThatAreNoGoodAreLeftOut) {
  const CocoFolder folder(coco_json({coco_image(1, "a.png"), coco_image(2, "missing.png"),
                                     coco_image(3, "b.png", 9999, 9999), coco_image(4, "c.png")},
                                    {coco_object(1, 1, 3, "[1,1,5,5]")}),
                          {{"a.png", kCocoImage}, {"b.png", kCocoImage}, {"c.png", "no image"}});
  CocoDataset data = folder.open();
  EXPECT_EQ(data.size(), 4u);
  EXPECT_NE(error_of([&] { data.load(1); }).find("missing.png"), std::string::npos);
  EXPECT_NE(error_of([&] { data.load(2); }).find("40x36"), std::string::npos);
  CocoDataset quick = data;
  EXPECT_EQ(check(quick, {.read_files = false}).left_out, 1u);
  size_t calls = 0;
  const DataReport report = check(data, {.threads = 3, .progress = [&](size_t done, size_t total) {
                                           EXPECT_LE(done, total);
                                           ++calls;
                                           return true;
                                         }});
  EXPECT_EQ(report.samples, 1u);
  EXPECT_EQ(report.left_out, 3u);
  ASSERT_EQ(report.problems.size(), 3u);
  EXPECT_NE(report.problems[0].find("missing.png"), std::string::npos);
  EXPECT_NE(report.problems[1].find("9999x9999"), std::string::npos);
  EXPECT_NE(report.problems[2].find("c.png"), std::string::npos);
  ASSERT_EQ(data.size(), 1u);
  EXPECT_EQ(data.image_id(0), 1);

  const CocoFolder nothing(coco_json({coco_image(2, "missing.png")}, {}));
  CocoDataset gone = nothing.open();
  EXPECT_NE(error_of([&] { check(gone); }).find("missing.png"), std::string::npos);
}

TEST(Coco, ACheckThatIsStoppedLeavesTheRestIn) {
  const CocoFolder folder(coco_json(
      {coco_image(1, "gone.png"), coco_image(2, "gone.png"), coco_image(3, "a.png")}, {}));
  CocoDataset data = folder.open();
  size_t calls = 0;
  const DataReport report = check(data, {.progress = [&](size_t done, size_t total) {
                                    EXPECT_EQ(done, 1u);
                                    EXPECT_EQ(total, 3u);
                                    ++calls;
                                    return false;
                                  }});
  EXPECT_EQ(calls, 1u);
  EXPECT_EQ(report.left_out, 1u);
  EXPECT_EQ(report.samples, 2u);
}

TEST(Coco, NothingOutsideOfTheFolderIsOpened) {
  const TempDir outer;
  write_files(outer.path(), {{"secret.png", kCocoImage},
                             {"in/x.json", coco_json({coco_image(1, "secret.png")}, {})}});
  CocoDataset data = *open_coco((outer / "in/x.json").string()).whole;
  error_of([&] { data.load(0); });
}

void expect_splits(const std::string& path) {
  SCOPED_TRACE(path);
  EXPECT_EQ(recognise_data(path), DataKind::kCoco);
  const CocoSplits splits = open_coco(path);
  EXPECT_FALSE(splits.whole);
  ASSERT_TRUE(splits.train && splits.val);
  EXPECT_EQ(splits.there, (std::vector<std::string>{"train", "val"}));
  EXPECT_EQ(splits.train->load(1).image->width, 40);
  EXPECT_EQ(objects_of(splits.val->load(0)).image, 1);
  EXPECT_EQ(splits.classes(), splits.val->classes());
  CocoDataset train = *splits.train;
  EXPECT_EQ(check(train).problem_count, 0u);
  const CocoSplits first = open_coco(path, {.splits = {"val", "train"}, .first_split_only = true});
  EXPECT_TRUE(first.val && !first.train);
}

TEST(Coco, LayoutsInFoldersAndArchives) {
  const std::string val = coco_json({coco_image(1, "v.png")}, {});
  const std::vector<Files> layouts = {
      {{"annotations/instances_train2017.json", small_json()},
       {"annotations/instances_val2017.json", val},
       {"annotations/captions_train2017.json", "{}"},
       {"train2017/a.png", kCocoImage},
       {"train2017/b.png", kCocoImage},
       {"val2017/v.png", kCocoImage}},
      {{"annotations/instances_train.json", small_json()},
       {"annotations/instances_val.json", val},
       {"images/train/a.png", kCocoImage},
       {"images/train/b.png", kCocoImage},
       {"images/val/v.png", kCocoImage}},
      {{"train.json", small_json()},
       {"val.json", val},
       {"coco.json", "of no split"},
       {"images/a.png", kCocoImage},
       {"images/b.png", kCocoImage},
       {"images/v.png", kCocoImage}},
      {{"train/_annotations.coco.json", small_json()},
       {"valid/_annotations.coco.json", val},
       {"train/a.png", kCocoImage},
       {"train/b.png", kCocoImage},
       {"valid/v.png", kCocoImage}},
  };
  const TempDir folder;
  for (size_t i = 0; i < layouts.size(); ++i) {
    const std::string name = std::to_string(i);
    write_files(folder / name, layouts[i]);
    expect_splits((folder / name).string());
    write_file(folder / (name + ".tar"), tar_bytes(layouts[i], "outer/"));
    expect_splits((folder / (name + ".tar")).string());
    write_file(folder / (name + ".tar.gz"), gzip_bytes(tar_bytes(layouts[i])));
    expect_splits((folder / (name + ".tar.gz")).string());
    write_file(folder / (name + ".zip"), zip_bytes(layouts[i], ZipKind::kDeflated, "outer/"));
    expect_splits((folder / (name + ".zip")).string());
  }
  // One file of a folder, and images that lie elsewhere.
  const std::string one = (folder / "0/annotations/instances_train2017.json").string();
  EXPECT_EQ(recognise_data(one), DataKind::kCoco);
  EXPECT_EQ(open_coco(one).whole->load(0).image->width, 40);
  write_file(folder / "alone/x.json", small_json());
  EXPECT_EQ(open_coco((folder / "alone/x.json").string(),
                      {.images = (folder / "1/images/train").string()})
                .whole->load(0)
                .image->width,
            40);
  error_of([&] { open_coco((folder / "1/images").string()); });
}

TEST(Coco, SplitsMustAgree) {
  const TempDir folder;
  write_files(folder.path(),
              {{"train.json", small_json()},
               {"val.json", coco_json({coco_image(1, "v.png")}, {}, R"({"id":3,"name":"bee"})")}});
  EXPECT_NE(error_of([&] { open_coco(folder.path().string()); }).find("different categories"),
            std::string::npos);
  EXPECT_TRUE(open_coco(folder.path().string(), {.splits = {"val"}}).val);
  expect_error(ErrorCode::kUsage, {"dev"},
               [&] { open_coco(folder.path().string(), {.splits = {"dev"}}); });
  write_file(folder / "train_small.json", small_json());
  EXPECT_NE(error_of([&] { open_coco(folder.path().string()); }).find("expected one file"),
            std::string::npos);
}

TEST(Coco, HostileFilesTakeBoundedTime) {
  const auto seconds = [](const std::string& json) {
    const auto start = std::chrono::steady_clock::now();
    survives([&] { parse_coco_text("x", json); });
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  // A polygon back and forth over the widest image, as one part and as many.
  std::string zigzag, parts;
  for (int i = 0; i < 100000; ++i)
    zigzag += (i > 0 ? "," : "") + std::string(i % 2 == 0 ? "0," : "1e9,") + std::to_string(i % 64);
  for (int i = 0; i < 100000; ++i) parts += std::string(i > 0 ? "," : "") + "[0,0,1e9,9,0,20]";
  std::vector<std::string> many;
  for (int i = 0; i < 50000; ++i)
    many.push_back(
        coco_object(i, 1, 3, "[1,1,5,5]", R"(,"segmentation":[[-1e9,-1e9,1e9,-1e9,1e9,1e9]])"));
  for (const std::vector<std::string>& objects :
       {std::vector<std::string>{
            coco_object(1, 1, 3, "[1,1,5,5]", R"(,"segmentation":[[)" + zigzag + "]]")},
        {coco_object(1, 1, 3, "[1,1,5,5]", R"(,"segmentation":[)" + parts + "]")},
        many}) {
    EXPECT_LT(seconds(coco_json({coco_image(1, "a.png", 1 << 20, 64)}, objects)), 20);
  }
  EXPECT_LT(seconds(R"({"images":[)" + std::string(5000000, ' ')), 20);
  EXPECT_LT(seconds(R"({"x":")" + std::string(5000000, 'y')), 20);
  EXPECT_LT(seconds(R"({"x":[)" + std::string(2500000, '0') + "]}"), 20);
  std::string keys;
  for (int i = 0; i < 300000; ++i) keys += "\"k" + std::to_string(i) + "\":{},";
  EXPECT_LT(seconds("{" + keys + "}"), 20);
}

TEST(Coco, ProblemsAreCountedButNotAllKept) {
  std::vector<std::string> objects;
  for (int i = 0; i < 1000; ++i) objects.push_back(coco_object(i, 99, 3, "[1,1,5,5]"));
  const CocoFolder folder(coco_json({coco_image(1, "a.png")}, objects));
  EXPECT_EQ(folder.open().problems().problem_count, 1000u);
  EXPECT_EQ(folder.open().problems().problems.size(), DataReport::kMostShown);
}

}  // namespace
}  // namespace vig::test
