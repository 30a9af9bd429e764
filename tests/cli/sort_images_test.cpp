// Folders for classes, and files that share a name. What is moved is in classify_sort_test.cpp.
#include "vig/cli/sort_images.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <set>

#include "support/errors.h"
#include "support/files.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

TEST(ClassFolder, IsANameOfAFile) {
  const std::string longest(200, 'x');
  const std::pair<std::string, std::string> cases[] = {
      {"cat", "cat"},       {"", "_"},
      {"..", "_."},         {"a/b", "a_b"},
      {"a\nb\x1f", "a_b_"}, {"a b \x7f", "a b \x7f"},
      {longest, longest},   {longest + "y", longest}};
  for (const auto& [name, folder] : cases) EXPECT_EQ(cli::class_folder(name), folder) << name;
}

TEST(ImageSorter, CountsFilesOfOneName) {
  const TempDir folder;
  const cli::ImageSorter sorter((folder / "deep/sorted").string());
  const fs::path cats = folder / "deep/sorted/cat";
  for (const char* expected : {"a.b.png", "a.b (2).png", "a.b (3).png"}) {
    write_file(folder / "a.b.png", expected);
    EXPECT_EQ(sorter.move((folder / "a.b.png").string(), "cat"), cats / expected);
    EXPECT_EQ(read_file(cats / expected), expected);
    EXPECT_FALSE(fs::exists(folder / "a.b.png"));
  }
  EXPECT_EQ(read_file(cats / "a.b.png"), "a.b.png");
  // Where it is already, it stays, for any name of the folder.
  const std::string there = (folder / "deep/../deep/sorted/cat/a.b.png").string();
  EXPECT_EQ(sorter.move(there, "cat"), there);
  EXPECT_EQ(read_file(cats / "a.b.png"), "a.b.png");
}

TEST(ImageSorter, WhatCannotBeMovedStaysAndIsNamed) {
  const TempDir folder;
  write_file(folder / "file", "");
  expect_error(ErrorCode::kInput, {(folder / "file/x").string() + ": cannot be made a folder"},
               [&] { const cli::ImageSorter sorter((folder / "file/x").string()); });
  const cli::ImageSorter sorter((folder / "sorted").string());
  write_file(folder / "sorted/cat", "no folder");
  write_file(folder / "a.png", "a");
  expect_error(ErrorCode::kInput, {(folder / "sorted/cat").string()},
               [&] { sorter.move((folder / "a.png").string(), "cat"); });
  EXPECT_EQ(read_file(folder / "a.png"), "a");
  EXPECT_EQ(read_file(folder / "sorted/cat"), "no folder");
  expect_error(ErrorCode::kInput,
               {(folder / "gone.png").string() + ": cannot be moved to ", "No such file"},
               [&] { sorter.move((folder / "gone.png").string(), "dog"); });
  // A link that means the same everywhere is moved as a link.
  fs::create_symlink(folder / "a.png", folder / "link.png");
  const fs::path moved = sorter.move((folder / "link.png").string(), "dog");
  EXPECT_TRUE(fs::is_symlink(moved));
  EXPECT_EQ(read_file(moved), "a");
}

// Files in the folder of temporary files, which are moved to another file system.
class ImageSorterAcross : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path other = other_file_system();
    if (other.empty()) GTEST_SKIP() << "needs a second file system that can be written to";
    other_.emplace(other);
    sorter_.emplace(other_->path().string());
    cats_ = other_->path() / "cat";
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::set<std::string> cats() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(cats_)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  const TempDir folder_;
  std::optional<TempDir> other_;
  std::optional<cli::ImageSorter> sorter_;
  fs::path cats_;
};

TEST_F(ImageSorterAcross, TheCopyIsAsTheOriginal) {
  const std::string bytes = std::string(3000000, 'x') + "end";  // several reads
  write_file(file("a.png"), bytes);
  fs::permissions(file("a.png"), fs::perms(0640));
  const auto time = fs::last_write_time(file("a.png")) - std::chrono::hours(1000);
  fs::last_write_time(file("a.png"), time);
  EXPECT_EQ(sorter_->move(file("a.png"), "cat"), cats_ / "a.png");
  EXPECT_EQ(read_file(cats_ / "a.png"), bytes);
  EXPECT_EQ(fs::status(cats_ / "a.png").permissions(), fs::perms(0640));
  EXPECT_EQ(fs::last_write_time(cats_ / "a.png"), time);
  EXPECT_FALSE(fs::exists(file("a.png")));
  EXPECT_EQ(cats(), std::set<std::string>{"a.png"});
}

TEST_F(ImageSorterAcross, NothingIsOverwritten) {
  write_file(cats_ / "a.png", "other");
  write_file(cats_ / ".a (2).png.part", "another's");
  fs::create_symlink("nowhere", cats_ / "a (3).png");
  for (const char* expected : {"a (2).png", "a (4).png"}) {
    write_file(file("a.png"), expected);
    EXPECT_EQ(sorter_->move(file("a.png"), "cat"), cats_ / expected);
    EXPECT_EQ(read_file(cats_ / expected), expected);
    EXPECT_FALSE(fs::exists(file("a.png")));
  }
  EXPECT_EQ(read_file(cats_ / "a.png"), "other");
  EXPECT_EQ(read_file(cats_ / ".a (2).png.part"), "another's");
  EXPECT_EQ(fs::read_symlink(cats_ / "a (3).png"), "nowhere");
  EXPECT_EQ(cats().size(), 5u);
}

TEST_F(ImageSorterAcross, ALinkStaysALink) {
  write_file(file("a.png"), "a");
  fs::create_symlink(file("a.png"), file("link.png"));
  const fs::path moved = sorter_->move(file("link.png"), "cat");
  EXPECT_EQ(fs::read_symlink(moved), file("a.png"));
  EXPECT_FALSE(fs::is_symlink(file("link.png")));
  EXPECT_EQ(read_file(file("a.png")), "a");
  EXPECT_EQ(cats(), std::set<std::string>{"link.png"});
}

TEST_F(ImageSorterAcross, WhatCannotBeMovedLeavesNoCopy) {
  // A file that cannot be removed.
  expect_error(ErrorCode::kInput, {"/proc/version: cannot be moved to "},
               [&] { sorter_->move("/proc/version", "cat"); });
  EXPECT_EQ(cats(), std::set<std::string>());
  // No name for a temporary file fits beside the longest names.
  const std::string longest = file(std::string(251, 'x') + ".png");
  write_file(longest, "x");
  expect_error(ErrorCode::kInput, {"File name too long"}, [&] { sorter_->move(longest, "cat"); });
  EXPECT_EQ(read_file(longest), "x");
  EXPECT_EQ(cats(), std::set<std::string>());
}

}  // namespace
}  // namespace vig::test
