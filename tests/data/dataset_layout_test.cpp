// Folders of classes: what is no class, and what options change.
#include <gtest/gtest.h>

#include <filesystem>

#include "data/archive_bytes.h"
#include "data/working_folder.h"
#include "support/errors.h"
#include "support/files.h"
#include "vig/data/dataset.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

Files two_classes() { return {{"cat/1.png", numbered_png(1)}, {"dog/1.png", numbered_png(2)}}; }

TEST(DatasetLayout, WhatDesktopsAndToolsLeaveIsNoClass) {
  const TempDir dir;
  Files files = two_classes();
  files["__MACOSX/cat/._1.png"] = "x";
  files[".cache/1.png"] = "x";
  write_files(dir / "folder", files);
  const std::string tar = tar_header({.name = "__MACOSX/", .type = '5'}) +
                          tar_header({.name = ".cache/", .type = '5'}) + tar_bytes(files);
  write_file(dir / "x.tar", tar);
  for (const char* name : {"folder", "x.tar"}) {
    EXPECT_EQ(open_dataset((dir / name).string()).classes(), (Names{"cat", "dog"})) << name;
  }
}

TEST(DatasetLayout, AnEmptyClassIsNamedWithItsSplit) {
  const TempDir dir;
  for (const char* split : {"train", "val"}) write_files(dir / split, two_classes());
  write_file(dir / "train/fox/notes.txt", "x");
  const std::string path = dir.path().string();
  expect_error(ErrorCode::kInput, {path, "the folder \"train/fox\" holds no images"},
               [&] { open_dataset(path); });
  EXPECT_EQ(open_dataset(path, {.splits = {"val"}}).val->size(), 2u);
}

TEST(DatasetLayout, FoldersMayBeNamedAsFilesAre) {
  const TempDir dir;
  for (const char* name : {"x.json", "x.txt", "x.csv"}) {
    write_files(dir / name, two_classes());
    EXPECT_EQ(recognise_data((dir / name).string()), DataKind::kClasses) << name;
    EXPECT_EQ(open_dataset((dir / name).string()).whole->size(), 2u) << name;
  }
}

TEST(DatasetLayout, HiddenTablesAreNotSuggested) {
  const TempDir dir;
  write_files(dir.path(), {{"1.png", numbered_png(1)}, {".labels.csv", "1.png,cat\n"}});
  const std::string error = error_of([&] { open_dataset(dir.path().string()); });
  EXPECT_NE(error.find("lies in no class folder"), std::string::npos) << error;
  EXPECT_EQ(error.find("labels.csv"), std::string::npos) << error;
}

// A folder, an archive and a list of the same images.
class DatasetOptionsTest : public ::testing::Test {
 protected:
  DatasetOptionsTest() {
    write_files(dir_ / "data", two_classes());
    write_file(dir_ / "data/list.csv", "cat/1.png,cat\ndog/1.png,dog\n");
    write_file(dir_ / "x.tar.gz", gzip_bytes(tar_bytes(two_classes())));
  }
  std::string path(const char* name) const { return (dir_ / name).string(); }

  TempDir dir_;
};

TEST_F(DatasetOptionsTest, ReachTheDecoder) {
  for (const char* name : {"data", "data/list.csv", "x.tar.gz"}) {
    const Dataset data = *open_dataset(path(name), {.decode = {.max_pixels = 10}}).whole;
    expect_error(ErrorCode::kInput, {"cat/1.png", "limit of 10 pixels"}, [&] { data.decode(0); });
  }
}

TEST_F(DatasetOptionsTest, ReachTheArchive) {
  expect_error(ErrorCode::kInput, {"x.tar.gz", "more than the 1000 bytes"},
               [&] { open_dataset(path("x.tar.gz"), {.archive = {.max_unpacked_bytes = 1000}}); });
}

TEST_F(DatasetOptionsTest, ReachTheCacheOfAList) {
  for (const bool kept : {false, true}) {
    write_files(dir_ / "data", two_classes());
    const Dataset data =
        *open_dataset(path("data/list.csv"), {.cache_bytes = kept ? 1u << 20 : 0u}).whole;
    data.decode(0);
    fs::remove(dir_ / "data/cat/1.png");
    EXPECT_EQ(survives([&] { data.decode(0); }), kept);
  }
}

// A list that is named without a folder lies in the working folder.
TEST_F(DatasetOptionsTest, ListsOfTheWorkingFolder) {
  const WorkingFolder here(dir_ / "data");
  const Dataset data = *open_dataset("list.csv").whole;
  EXPECT_EQ(data.path(0), "./cat/1.png");
  EXPECT_NO_THROW(data.decode(0));
}

}  // namespace
}  // namespace vig::test
