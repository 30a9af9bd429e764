#include "vig/data/label_pairs.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "data/archive_bytes.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/raw_png.h"
#include "vig/data/target.h"

namespace vig::test {
namespace {

const std::string kPairImage = png_bytes(Image(3, 2));
std::string three_wide(const std::vector<int>& values) { return label_png(3, values); }

const LabelMap& map_of(const Sample& sample) { return target_of<LabelMap>(sample); }
using Labels = std::vector<uint8_t>;

Files camvid(const std::string& root = "") {
  return {{root + "train/a.png", kPairImage},
          {root + "trainannot/a.png", three_wide({0, 1, 2, 0, 1, 3})},
          {root + "train/b.png", kPairImage},
          {root + "trainannot/b.png", three_wide({0, 0, 0, 0, 0, 255})},
          {root + "val/c.png", kPairImage},
          {root + "valannot/c.png", three_wide({1, 1, 1, 0, 0, 0})}};
}

class Folder {
 public:
  explicit Folder(const Files& files) { write_files(dir_.path(), files); }
  std::string path() const { return dir_.path().string(); }
  std::string operator/(const std::string& name) const { return (dir_ / name).string(); }
  LabelPairSplits open(const LabelPairOptions& options = {}) const {
    return open_label_pairs(path(), options);
  }

 private:
  TempDir dir_;
};

TEST(LabelPairs, CamVidFolders) {
  const Folder folder(camvid());
  EXPECT_EQ(recognise_data(folder.path()), DataKind::kLabelPairs);
  const LabelPairSplits splits = folder.open();
  ASSERT_TRUE(splits.train && splits.val);
  EXPECT_FALSE(splits.test || splits.whole);
  EXPECT_EQ(splits.there, (std::vector<std::string>{"train", "val"}));
  // The largest label of the training split and those below it.
  EXPECT_EQ(splits.classes(), (std::vector<std::string>{"0", "1", "2", "3"}));
  const Sample sample = splits.train->load(0);
  EXPECT_EQ(sample.image->width, 3);
  EXPECT_EQ(map_of(sample).labels, (Labels{0, 1, 2, 0, 1, 3}));
  EXPECT_EQ(map_of(splits.train->load(1)).labels[5], kNoLabel);
  EXPECT_TRUE(splits.train->location(1).ends_with("train/b.png"));
  EXPECT_TRUE(splits.train->label_location(1).ends_with("trainannot/b.png"));
}

// What lies behind a link out of the folder is not opened, neither an image nor its labels nor a
// list.
TEST(LabelPairs, LinksOutOfTheFolderAreRefused) {
  namespace fs = std::filesystem;
  const Folder folder(camvid()), elsewhere({{"image.png", kPairImage},
                                            {"labels.png", three_wide({0, 1, 2, 0, 1, 3})},
                                            {"train.txt", "train/a.png trainannot/a.png\n"}});
  const auto link = [&](const std::string& from, const std::string& to) {
    fs::remove(folder / to);
    fs::create_symlink(elsewhere / from, folder / to);
  };
  link("image.png", "train/a.png");
  const auto problem = [&] {
    const LabelPairSplits splits = folder.open();
    EXPECT_EQ(splits.train->size(), 1u);
    EXPECT_TRUE(splits.train->location(0).ends_with("train/b.png"));
    EXPECT_EQ(splits.train->problems().problem_count, 1u);
    return splits.train->problems().problems.at(0);
  };
  EXPECT_NE(problem().find("train/a.png: a link out of " + folder.path()), std::string::npos);
  write_file(folder / "image.png", kPairImage);
  fs::remove(folder / "train/a.png");
  fs::create_symlink("../image.png", folder / "train/a.png");  // inside
  link("labels.png", "trainannot/a.png");
  EXPECT_NE(problem().find("trainannot/a.png: a link out of "), std::string::npos);
  link("train.txt", "train.txt");
  expect_error(ErrorCode::kInput, {"train.txt: a link out of " + folder.path()},
               [&] { folder.open(); });
}

TEST(LabelPairs, NamesAndTheIgnoredClass) {
  Files files = camvid();
  files["classes.txt"] = "\xef\xbb\xbfsky\nroad\r\ncar\nUnlabelled\n\n";
  files["classes.txt"].erase(0, 3);
  const Folder folder(files);
  const LabelPairSplits splits = folder.open();
  EXPECT_EQ(splits.classes(), (std::vector<std::string>{"sky", "road", "car"}));
  EXPECT_EQ(map_of(splits.train->load(0)).labels, (Labels{0, 1, 2, 0, 1, kNoLabel}));
  // As asked for.
  const LabelPairSplits other = folder.open({.ignored = 2});
  EXPECT_EQ(other.classes().size(), 4u);
  EXPECT_EQ(map_of(other.train->load(0)).labels, (Labels{0, 1, kNoLabel, 0, 1, 3}));
  EXPECT_EQ(folder.open({.ignored = 3}).classes().size(), 3u);
  EXPECT_EQ(folder.open({.names = {"a", "b", "c", "d"}}).classes()[3], "d");
  EXPECT_EQ(folder.open({.classes = 6}).classes().size(), 6u);
  expect_error(ErrorCode::kUsage, {"2 names for 3"}, [&] {
    folder.open({.classes = 3, .names = {"a", "b"}});
  });
  expect_error(ErrorCode::kUsage, {"300"}, [&] { folder.open({.classes = 300}); });
}

TEST(LabelPairs, LargestLabelWithoutTheIgnoredOne) {
  const Folder folder(camvid());
  EXPECT_EQ(folder.open({.ignored = 3}).classes().size(), 3u);
  EXPECT_EQ(folder.open({.zero_ignored = true}).classes().size(), 3u);
}

TEST(LabelPairs, Ade20k) {
  const Folder folder(
      {{"ADE/images/training/x/1.jpg", kPairImage},
       {"ADE/annotations/training/x/1.png", three_wide({0, 1, 2, 5, 255, 1})},
       {"ADE/images/validation/2.jpg", kPairImage},
       {"ADE/annotations/validation/2.png", three_wide({1, 1, 1, 1, 1, 1})},
       {"ADE/images/testing/3.jpg", kPairImage},
       {"ADE/objectInfo150.txt",
        "Idx\tRatio\tName\n1\t0.5\twall\n2\t0.2\tsky, blue\n3\t0\ttree\n4\t0\tcar\n5\t0\tbed\n"}});
  const LabelPairSplits splits = folder.open();
  ASSERT_TRUE(splits.train && splits.val);
  EXPECT_EQ(splits.classes(),
            (std::vector<std::string>{"wall", "sky, blue", "tree", "car", "bed"}));
  EXPECT_EQ(map_of(splits.train->load(0)).labels, (Labels{kNoLabel, 0, 1, 4, kNoLabel, 0}));
  EXPECT_EQ(map_of(folder.open({.zero_ignored = false, .classes = 6}).train->load(0)).labels,
            (Labels{0, 1, 2, 5, kNoLabel, 1}));
}

TEST(LabelPairs, ListsAndOtherLayouts) {
  const Files lists = {
      {"images/train/1.png", kPairImage},
      {"labels/train/other.png", three_wide({0, 1, 0, 1, 0, 1})},
      {"v 2.png", kPairImage},
      {"train.txt",
       "# images\n\nimages/train/1.png labels/train/other.png\r\n/data/x/images/train/1.png   "
       "/data/x/labels/train/other.png\n"},
      {"val.txt", "v 2.png\tlabels/train/other.png\n"}};
  const Folder folder(lists);
  EXPECT_EQ(recognise_data(folder.path()), DataKind::kLabelPairs);
  const LabelPairSplits splits = folder.open();
  EXPECT_EQ(splits.train->size(), 2u);
  EXPECT_EQ(splits.train->location(0), splits.train->location(1));
  EXPECT_EQ(map_of(splits.val->load(0)).labels, (Labels{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(recognise_data(folder / "train.txt"), DataKind::kLabelPairs);
  const LabelPairSplits one = open_label_pairs(folder / "train.txt");
  EXPECT_EQ(one.whole->size(), 2u);

  const Folder whole(
      {{"images/1.jpg", kPairImage}, {"masks/1.png", three_wide({0, 1, 0, 1, 0, 1})}});
  EXPECT_EQ(whole.open().whole->size(), 1u);
  const Folder inside(
      {{"train/images/1.jpg", kPairImage}, {"train/labels/1.png", three_wide({0, 1, 0, 1, 0, 1})}});
  EXPECT_EQ(inside.open().train->size(), 1u);
  const Folder classes({{"cat/1.png", kPairImage}, {"dog/1.png", kPairImage}});
  EXPECT_EQ(recognise_data(classes.path()), DataKind::kClasses);
  EXPECT_NE(error_of([&] { classes.open(); }).find("SPLITannot"), std::string::npos);
  // Boxes in text files, as other programs keep them, are something else.
  const Folder boxes({{"images/train/1.png", kPairImage},
                      {"labels/train/1.txt", "0 0.5 0.5 1 1"},
                      {"train.txt", "images/train/1.png\n"}});
  EXPECT_EQ(recognise_data(boxes.path()), DataKind::kClasses);
}

TEST(LabelPairs, Archives) {
  const TempDir folder;
  const Folder plain(camvid());
  const Sample want = plain.open().train->load(0);
  write_file(folder / "a.tar", tar_bytes(camvid(), "camvid/"));
  write_file(folder / "a.tar.gz", gzip_bytes(tar_bytes(camvid("deep/"), "camvid/")));
  write_file(folder / "a.zip", zip_bytes(camvid(), ZipKind::kDeflated));
  for (const char* name : {"a.tar", "a.tar.gz", "a.zip"}) {
    EXPECT_EQ(recognise_data((folder / name).string()), DataKind::kLabelPairs) << name;
    const LabelPairSplits splits = open_label_pairs((folder / name).string());
    ASSERT_TRUE(splits.train && splits.val) << name;
    EXPECT_EQ(map_of(splits.train->load(0)), map_of(want));
    EXPECT_EQ(*splits.train->load(0).image, *want.image);
  }
}

TEST(LabelPairs, WhatIsWrongIsNamedAndLeftOut) {
  Files files = camvid();
  files["train/c.png"] = kPairImage;                           // without labels
  files["trainannot/d.png"] = three_wide({0, 0, 0, 0, 0, 0});  // without an image
  files["train/e.png"] = kPairImage,
  files["trainannot/e.png"] = label_png(2, {0, 0, 0, 0});  // of another size
  files["train/f.png"] = kPairImage,
  files["trainannot/f.png"] = three_wide({0, 0, 0, 0, 200, 0});  // no class
  files["train/g.png"] = kPairImage, files["trainannot/g.png"] = "no image";
  files["train/h.png"] = kPairImage,
  files["trainannot/h.png"] =
      raw_png({.width = 3, .height = 2, .color = 2, .rows = std::string(18, 'x')});
  files["train/i.png"] = "no image", files["trainannot/i.png"] = three_wide({0, 0, 0, 0, 0, 0});
  files["train/j.png"] = kPairImage,
  files["trainannot/j.png"] = three_wide({255, 255, 255, 255, 255, 255});
  files["classes.txt"] = "a\nb\nc\nd\n";
  const Folder folder(files);
  LabelPairs data = *folder.open().train;
  EXPECT_EQ(data.size(), 8u);
  EXPECT_NE(error_of([&] { data.load(3); }).find("200"), std::string::npos);
  EXPECT_NE(error_of([&] { data.load(2); }).find("2x2"), std::string::npos);
  const DataReport report = check(data, {.threads = 2});
  EXPECT_EQ(data.size(), 3u);  // a, b and j, which is all ignored
  EXPECT_EQ(report.samples, 3u);
  EXPECT_EQ(report.problem_count, 7u);
  EXPECT_EQ(report.left_out, 7u);
  std::string all;
  for (const std::string& problem : report.problems) all += problem + "\n";
  for (const char* word : {"c.png", "d.png", "2x2 pixels, expected 3x2",
                           "the label 200 at column 1 of row 1", "g.png", "colours", "i.png"}) {
    EXPECT_NE(all.find(word), std::string::npos) << word << "\n" << all;
  }
  for (size_t i = 0; i < data.size(); ++i) data.load(i);

  const Folder bad({{"images/1.png", kPairImage},
                    {"labels/1.png", three_wide({0, 0, 0, 0, 2, 0})},
                    {"classes.txt", "a\nb\n"}});
  LabelPairs none = *bad.open().whole;
  EXPECT_NE(error_of([&] { check(none); }).find("the label 2 at"), std::string::npos);
}

// The label 255 means none.
TEST(LabelPairs, AtMost255Classes) {
  std::string names;
  for (int i = 0; i < 255; ++i) names += "class " + std::to_string(i) + "\n";
  std::map<std::string, std::string> files = {{"images/1.png", kPairImage},
                                              {"labels/1.png", three_wide({0, 0, 0, 0, 254, 0})},
                                              {"classes.txt", names}};
  EXPECT_EQ(Folder(files).open().whole->classes().size(), 255u);
  files["classes.txt"] += "one more\n";
  EXPECT_NE(error_of([&] {
              Folder(files).open();
            }).find("names 256 classes, expected at most 255 (a fixed limit)"),
            std::string::npos);
}

TEST(LabelPairs, NothingIsLeft) {
  const Folder apart(
      {{"images/1.png", kPairImage}, {"labels/2.png", three_wide({0, 0, 0, 0, 0, 0})}});
  EXPECT_NE(error_of([&] { apart.open(); }).find("1.png"), std::string::npos);
  const Folder ignored(
      {{"images/1.png", kPairImage}, {"labels/1.png", three_wide({255, 255, 255, 255, 255, 255})}});
  EXPECT_NE(error_of([&] { ignored.open(); }).find("shows a class"), std::string::npos);
  EXPECT_EQ(ignored.open({.classes = 2}).whole->labels(0).labels[0], kNoLabel);
}

// A list that is not understood is no reason to train on its images.
TEST(LabelPairs, ListsOfAnotherFormAreRefused) {
  for (const std::string list : {"images/1.png,labels/1.png\n", "", "images/1.png\n",
                                 "\"images/1.png\" \"labels/1.png\"\n", "a b c\n"}) {
    const Folder folder({{"images/1.png", kPairImage},
                         {"labels/1.png", three_wide({0, 1, 0, 1, 0, 1})},
                         {"test.txt", list}});
    EXPECT_EQ(recognise_data(folder.path()), DataKind::kLabelPairs);
    EXPECT_NE(error_of([&] { folder.open(); }).find("test.txt: expected an image and its labels"),
              std::string::npos)
        << list;
  }
}

TEST(LabelPairs, HostileLists) {
  const auto refused = [](const std::string& text, const std::string& word) {
    expect_error(ErrorCode::kInput, {"x.txt", word}, [&] { parse_pair_list("x.txt", text); });
  };
  refused("", "none");
  refused("# only\n\n", "none");
  refused("a.png\n", "line 1");
  refused("a.png b.png\na b c\n", "line 2");
  refused(std::string("a.png b\0.png", 12), "zero byte");
  EXPECT_EQ(parse_pair_list("x",
                            "\xef\xbb\xbf"
                            "a b\t c\nd e"),
            (std::vector<std::pair<std::string, std::string>>{{"a b", " c"}, {"d", "e"}}));
  // Names that climb out of the folder name nothing.
  const Folder folder({{"in/train.txt", "../secret.png ../secret.png\n../../etc/x.png a.png\n"},
                       {"secret.png", three_wide({0, 0, 0, 0, 0, 0})}});
  EXPECT_NE(error_of([&] { open_label_pairs(folder / "in/train.txt"); }).find("secret.png"),
            std::string::npos);
  error_of([&] { open_label_pairs(folder / "missing.txt"); });
}

}  // namespace
}  // namespace vig::test
