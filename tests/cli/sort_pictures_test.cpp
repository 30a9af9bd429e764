// Folders for classes, and files that share a name. What is moved is in classify_sort_test.cpp.
#include "vig/cli/sort_pictures.h"

#include <gtest/gtest.h>

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

TEST(PictureSorter, CountsFilesOfOneName) {
  const TempDir folder;
  const cli::PictureSorter sorter((folder / "deep/sorted").string());
  const fs::path cats = folder / "deep/sorted/cat";
  for (const char* expected : {"a.b.png", "a.b (2).png", "a.b (3).png"}) {
    write_file(folder / "a.b.png", expected);
    EXPECT_EQ(sorter.move((folder / "a.b.png").string(), "cat"), cats / expected);
    EXPECT_EQ(read_file(cats / expected), expected);
    EXPECT_FALSE(fs::exists(folder / "a.b.png"));
  }
  EXPECT_EQ(read_file(cats / "a.b.png"), "a.b.png");
  // Where it is already, it stays, whatever the folder is called.
  const std::string there = (folder / "deep/../deep/sorted/cat/a.b.png").string();
  EXPECT_EQ(sorter.move(there, "cat"), there);
  EXPECT_EQ(read_file(cats / "a.b.png"), "a.b.png");
}

TEST(PictureSorter, WhatCannotBeMovedStaysAndIsNamed) {
  const TempDir folder;
  write_file(folder / "file", "");
  expect_error(ErrorCode::kInput, {(folder / "file/x").string() + ": cannot be made a folder"},
               [&] { const cli::PictureSorter sorter((folder / "file/x").string()); });
  const cli::PictureSorter sorter((folder / "sorted").string());
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

}  // namespace
}  // namespace vig::test
