// Which images and label maps belong together, and what their values mean.
#include "vig/data/label_pairs_layout.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <tuple>

#include "data/archive_bytes.h"
#include "data/working_folder.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/raw_png.h"
#include "support/tree.h"
#include "vig/data/label_pairs.h"
#include "vig/image/decode.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;
using Labels = std::vector<uint8_t>;

const std::string kSmallImage = png_bytes(Image(2, 2));
std::string two_wide(const std::vector<int>& values) { return label_png(2, values); }

LabelPairSplits open_files(const TempDir& dir, const Files& files,
                           const LabelPairOptions& options = {}) {
  write_files(dir.path(), files);
  return open_label_pairs(dir.path().string(), options);
}

// Value 0 has no class in ADE20K, which is known by "training" below "annotations" and by nothing
// else.
TEST(LabelPairsLayout, OnlyAde20kBeginsWithNoClass) {
  for (const auto& [folder, split, ade] :
       std::vector<std::tuple<std::string, std::string, bool>>{{"annotations", "training", true},
                                                               {"annotations", "train", false},
                                                               {"labels", "training", false},
                                                               {"masks", "train", false}}) {
    const TempDir dir;
    const LabelPairSplits splits =
        open_files(dir, {{"images/" + split + "/1.png", kSmallImage},
                         {folder + "/" + split + "/1.png", two_wide({0, 1, 2, 3})}});
    EXPECT_EQ(splits.train->labels(0).labels,
              ade ? (Labels{kNoLabel, 0, 1, 2}) : (Labels{0, 1, 2, 3}))
        << folder << " " << split;
    EXPECT_EQ(splits.classes().size(), ade ? 3u : 4u);
  }
}

// Classes are those of the training split, independent of the other splits.
TEST(LabelPairsLayout, TheTrainingSplitSaysHowManyClassesThereAre) {
  const TempDir dir;
  const LabelPairSplits splits = open_files(dir, {{"train/1.png", kSmallImage},
                                                  {"trainannot/1.png", two_wide({0, 1, 2, 3})},
                                                  {"test/1.png", kSmallImage},
                                                  {"testannot/1.png", two_wide({0, 0, 0, 7})},
                                                  {"val/1.png", kSmallImage},
                                                  {"valannot/1.png", two_wide({0, 0, 0, 9})}});
  EXPECT_EQ(splits.classes(), (Names{"0", "1", "2", "3"}));
  expect_error(ErrorCode::kInput, {"testannot/1.png", "label 7", "none of the 4 classes"},
               [&] { splits.test->labels(0); });
}

TEST(LabelPairsLayout, TwoFoldersOfOneSplitAreRefused) {
  const TempDir dir;
  expect_error(ErrorCode::kInput, {dir.path().string(), "two folders for the split val"}, [&] {
    open_files(dir, {{"images/val/1.png", kSmallImage},
                     {"labels/val/1.png", two_wide({0, 0, 0, 1})},
                     {"images/valid/2.png", kSmallImage},
                     {"labels/valid/2.png", two_wide({0, 0, 0, 1})}});
  });
}

// Absolute names were written on another machine, so their ends are searched; those of relative
// ones are not.
TEST(LabelPairsLayout, NamesOfListsThatAreNotThere) {
  const TempDir dir;
  const LabelPairSplits splits = open_files(dir, {{"images/1.png", kSmallImage},
                                                  {"maps/1.png", two_wide({0, 0, 0, 1})},
                                                  {"train.txt",
                                                   "images/1.png maps/1.png\n"
                                                   "/far/images/1.png /far/off/maps/1.png\n"
                                                   "other/images/1.png maps/1.png\n"
                                                   "images/1.png gone.png\n"}});
  EXPECT_EQ(splits.train->size(), 2u);
  EXPECT_EQ(splits.train->path(1), (dir / "images/1.png").string());
  EXPECT_EQ(splits.train->label_location(1), (dir / "maps/1.png").string());
  const std::string list = (dir / "train.txt").string();
  EXPECT_EQ(splits.train->problems().problems,
            (Names{list + ": names other/images/1.png, which is not there",
                   list + ": names gone.png, which is not there"}));
}

TEST(LabelPairsLayout, ListsOfTheWorkingFolder) {
  const TempDir dir;
  write_files(dir.path(), {{"1.png", kSmallImage},
                           {"map.png", two_wide({0, 0, 0, 1})},
                           {"list.txt", "1.png map.png\n"}});
  const WorkingFolder here(dir.path());
  EXPECT_EQ(open_label_pairs("list.txt").whole->path(0), "./1.png");
}

Files with_classes(const std::string& text) {
  return {{"images/1.png", kSmallImage},
          {"labels/1.png", two_wide({0, 1, 2, 3})},
          {"classes.txt", text}};
}

TEST(LabelPairsLayout, NamesThatMeanNoClass) {
  for (const char* none : {"unlabelled", "unlabeled", "void", "ignore", "ignored", "VOID"}) {
    const TempDir dir;
    const LabelPairSplits splits =
        open_files(dir, with_classes(std::string("a\nb\nc\n") + none + "\n"));
    EXPECT_EQ(splits.classes(), (Names{"a", "b", "c"})) << none;
    EXPECT_EQ(splits.whole->labels(0).labels, (Labels{0, 1, 2, kNoLabel})) << none;
  }
  const TempDir dir;
  EXPECT_EQ(open_files(dir, with_classes("void\nb\nc\nd\n")).classes().size(), 4u)
      << "not the last";
  // Where 0 has no class, names begin with value 1.
  const LabelPairSplits shifted =
      open_files(dir, with_classes("a\nb\nvoid\n"), {.zero_ignored = true});
  EXPECT_EQ(shifted.classes(), (Names{"a", "b"}));
  EXPECT_EQ(shifted.whole->labels(0).labels, (Labels{kNoLabel, 0, 1, kNoLabel}));
}

TEST(LabelPairsLayout, ClassCounts) {
  const TempDir dir;
  const Files files = with_classes("a\nb\nc\nd\n");
  EXPECT_EQ(open_files(dir, files, {.classes = 2}).classes(), (Names{"a", "b"}));
  EXPECT_EQ(open_files(dir, files, {.classes = 6}).classes(),
            (Names{"a", "b", "c", "d", "4", "5"}));
  EXPECT_EQ(open_files(dir, files, {.classes = 255}).classes().size(), 255u);
  for (const int wrong : {0, 256}) {
    expect_error(ErrorCode::kUsage, {std::to_string(wrong) + " classes, expected 1 to 255"},
                 [&] { open_files(dir, files, {.classes = wrong}); });
  }
}

TEST(LabelPairsLayout, HostileClassFiles) {
  const TempDir dir;
  expect_error(ErrorCode::kInput, {"classes.txt", "is not UTF-8"},
               [&] { open_files(dir, with_classes("a\n\xff\n")); });
  // Takes no room on the disk.
  write_files(dir.path(), with_classes(""));
  fs::resize_file(dir / "classes.txt", (4 << 20) + 1);
  expect_error(ErrorCode::kInput,
               {"classes.txt", "4194305 bytes, expected at most 4194304 (a fixed limit)"},
               [&] { open_label_pairs(dir.path().string()); });
}

TEST(LabelPairsLayout, ChecksMayLeaveFilesAlone) {
  const TempDir dir;
  LabelPairs data = *open_files(dir, {{"images/1.png", "no image"},
                                      {"images/2.png", kSmallImage},
                                      {"labels/1.png", "no labels"},
                                      {"labels/2.png", two_wide({0, 0, 0, 1})},
                                      {"classes.txt", "a\nb\n"}})
                         .whole;
  EXPECT_EQ(check(data, {.read_files = false}).left_out, 0u);
  EXPECT_EQ(check(data).left_out, 1u);
  const std::vector<size_t> wrong = {1};
  expect_error(ErrorCode::kUsage, {"sample 1 of 1"}, [&] { data.subset(wrong); });
}

// Label maps were drawn on the image as it is stored.
TEST(LabelPairsLayout, OrientationIsNotApplied) {
  const fs::path turned = fs::path(kFixtures) / "image/photos/hopper_orient6.webp";
  const Image stored = read_image(turned.string(), {.apply_orientation = false});
  ASSERT_NE(stored, read_image(turned.string()));
  const TempDir dir;
  write_files(dir.path(),
              {{"images/1.webp", read_file(turned)},
               {"labels/1.png", label_png(static_cast<uint32_t>(stored.width),
                                          std::vector<int>(stored.rgb.size() / 3, 1))}});
  LabelPairs data = *open_label_pairs(dir.path().string()).whole;
  EXPECT_EQ(check(data).left_out, 0u);
  EXPECT_EQ(*data.load(0).image, stored);
}

}  // namespace
}  // namespace vig::test
