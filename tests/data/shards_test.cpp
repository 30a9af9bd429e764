#include "vig/data/shards.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "data/archive_bytes.h"
#include "support/errors.h"
#include "support/files.h"
#include "vig/data/data_report.h"
#include "vig/data/dataset.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

TEST(ExpandBraces, AsShellsDo) {
  EXPECT_EQ(expand_braces("a.tar"), Names{"a.tar"});
  EXPECT_EQ(expand_braces("a-{8..11}.tar"), (Names{"a-8.tar", "a-9.tar", "a-10.tar", "a-11.tar"}));
  EXPECT_EQ(expand_braces("a-{008..10}"), (Names{"a-008", "a-009", "a-010"}));
  EXPECT_EQ(expand_braces("{a,b}-{0..1}"), (Names{"a-0", "a-1", "b-0", "b-1"}));
  EXPECT_EQ(expand_braces("{a-{0..1},b}.tar"), (Names{"a-0.tar", "a-1.tar", "b.tar"}));
  for (const char* none : {"{a}", "a{", "}a{", "{3..1}", "{a..c}", "{1..}"}) {
    EXPECT_EQ(expand_braces(none), Names{none});
  }
  expect_error(ErrorCode::kUsage, {"more than 1000000 names"},
               [] { expand_braces("{0..99999999}"); });
  expect_error(ErrorCode::kUsage, {"more than 1000000 names"},
               [] { expand_braces("{0..9999}{0..9999}"); });
}

// Shards in a folder: their names and what they hold.
class Shards : public testing::Test {
 protected:
  std::string path(const std::string& name = "") const { return (dir_ / name).string(); }
  void write(const std::string& name, const Files& files) const {
    write_file(dir_ / name, tar_bytes(files));
  }
  // Two classes in three plain shards.
  void write_plain() const {
    for (int shard = 0; shard < 3; ++shard) {
      Files files;
      for (int i = 0; i < 4; ++i) {
        files[std::string(i % 2 == 0 ? "cat/" : "dog/") + std::to_string(4 * shard + i) + ".png"] =
            numbered_png(static_cast<uint64_t>(4 * shard + i));
      }
      write("a-" + std::to_string(shard) + ".tar", files);
    }
  }

  TempDir dir_;
};

std::vector<std::string> labels_of(const Dataset& data) {
  std::vector<std::string> labels;
  for (size_t i = 0; i < data.size(); ++i) {
    labels.push_back(data.classes()[static_cast<size_t>(data.label(i))]);
  }
  return labels;
}

TEST_F(Shards, AFolderOrAPatternIsTheDataSet) {
  write_plain();
  EXPECT_EQ(recognise_data(path()), DataKind::kClasses);
  for (const std::string& name : {path(), path("a-{0..2}.tar")}) {
    const DatasetSplits splits = open_dataset(name);
    ASSERT_TRUE(splits.whole);
    const Dataset& data = *splits.whole;
    EXPECT_EQ(data.classes(), (Names{"cat", "dog"}));
    ASSERT_EQ(data.size(), 12u);
    EXPECT_EQ(data.name(0), "a-0.tar/cat/0.png");
    EXPECT_EQ(data.path(0), path("a-0.tar/cat/0.png"));
    EXPECT_EQ(data.shards(),
              (std::vector<std::vector<size_t>>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}}));
    for (size_t i = 0; i < data.size(); ++i) {
      const std::string stem = fs::path(std::string(data.name(i))).stem().string();
      write_file(dir_ / "one/cat/x.png", numbered_png(std::stoull(stem)));
      write_file(dir_ / "one/dog/x.png", numbered_png(99));
      EXPECT_EQ(*data.decode(i), *open_dataset(path("one")).whole->decode(0));
      fs::remove_all(dir_ / "one");
    }
    const std::vector<size_t> some = {1, 2, 9};
    EXPECT_EQ(data.subset(some).shards(), (std::vector<std::vector<size_t>>{{0, 1}, {2}}));
  }
  EXPECT_EQ(open_dataset(path("a-{0,2}.tar")).whole->size(), 8u);
  expect_error(ErrorCode::kInput, {"a-3.tar is not there"},
               [&] { open_dataset(path("a-{0..3}.tar")); });
}

TEST_F(Shards, SamplesOfWebDataset) {
  write("b-train-00.tar", {{"x/000.jpg", numbered_png(0)},
                           {"x/000.cls", "10\n"},
                           {"x/001.png", numbered_png(1)},
                           {"x/001.cls", "2"}});
  write("b-train-01.tar", {{"2.left.png", numbered_png(2)},
                           {"2.json", R"({"caption": ["a", {}], "label": 2})"},
                           {"3.png", numbered_png(3)},
                           {"3.json", R"({"cls": 10, "label": "x"})"}});
  write("b-validation-00.tar", {{"4.png", numbered_png(4)},
                                {"4.cls", "2"},
                                {"5.png", numbered_png(5)},
                                {"5.cls", "10"},
                                {"6.png", numbered_png(6)},
                                {"6.cls", "x"}});
  const DatasetSplits splits = open_dataset(path());
  EXPECT_EQ(splits.there, (Names{"train", "val"}));
  ASSERT_TRUE(splits.train && splits.val && !splits.whole);
  EXPECT_EQ(labels_of(*splits.train), (Names{"10", "2", "2", "x"}));
}

// Numbers are in their own order, and may have names.
TEST_F(Shards, NumbersOfClassesMayHaveNames) {
  write("a.tar",
        {{"0.png", numbered_png(0)}, {"0.cls", "10"}, {"1.png", numbered_png(1)}, {"1.cls", "2"}});
  EXPECT_EQ(open_dataset(path()).whole->classes(), (Names{"2", "10"}));
  std::string names;
  for (int i = 0; i < 11; ++i) names += "class " + std::to_string(i) + "\n";
  write_file(dir_ / "classes.txt", names);
  EXPECT_EQ(open_dataset(path()).whole->classes(), (Names{"class 2", "class 10"}));
  EXPECT_EQ(labels_of(*open_dataset(path()).whole), (Names{"class 10", "class 2"}));
  write_file(dir_ / "classes.txt", "a\nb\n");
  expect_error(ErrorCode::kInput, {"the class 2, but classes.txt names 2"},
               [&] { open_dataset(path()); });
}

TEST_F(Shards, WhatIsWrongIsNamed) {
  write("a.tar", {{"cat/0.png", numbered_png(0)}, {"1.png", numbered_png(1)}});
  expect_error(ErrorCode::kInput, {"a.tar/1.png", "no class"}, [&] { open_dataset(path()); });
  write("train-a.tar", {{"cat/0.png", numbered_png(0)}});
  expect_error(ErrorCode::kInput, {"train-a.tar is named after a split", "a.tar is not"},
               [&] { open_dataset(path()); });
  fs::remove(dir_ / "train-a.tar");
  std::string cut = tar_bytes({{"cat/0.png", numbered_png(0)}});
  write_file(dir_ / "a.tar", cut.substr(0, 600));
  expect_error(ErrorCode::kInput, {"a.tar", "broken tar archive"}, [&] { open_dataset(path()); });
  write_file(dir_ / "a.tar", gzip_bytes(cut));
  expect_error(ErrorCode::kInput, {"expected a .tar that is not compressed"},
               [&] { open_dataset(path()); });
  write_file(dir_ / "a.tar",
             tar_entry({.name = "cat/0.png", .type = '2', .target = "1.png"}, "") + tar_end());
  expect_error(ErrorCode::kInput, {"a.tar/cat/0.png: a link"}, [&] { open_dataset(path()); });
  write("a.tar", {{"0.png", numbered_png(0)}, {"0.cls", "\xff"}});
  expect_error(ErrorCode::kInput, {"not UTF-8"}, [&] { open_dataset(path()); });
  write("a.tar", {{"0.png", numbered_png(0)}, {"0.json", "{\"cls\": -1}"}});
  expect_error(ErrorCode::kInput, {"a class"}, [&] { open_dataset(path()); });
}

// The index belongs to the tar file as it was, and no byte of it is believed.
TEST_F(Shards, TheIndexIsMadeOnceAndNotTrusted) {
  write_plain();
  const auto names = [&] {
    Names found;
    for (const ShardImage& image : index_shard(path("a-0.tar")).images) found.push_back(image.name);
    return found;
  };
  const Names all = names();
  EXPECT_EQ(all.size(), 4u);
  const std::string index = read_file(dir_ / "a-0.tar.index");
  // It is read: with the stamp of the tar file, what it says counts.
  const fs::file_time_type time = fs::last_write_time(dir_ / "a-0.tar");
  std::string rubbish(fs::file_size(dir_ / "a-0.tar"), 'x');
  const std::string tar = read_file(dir_ / "a-0.tar");
  write_file(dir_ / "a-0.tar", rubbish);
  fs::last_write_time(dir_ / "a-0.tar", time);
  EXPECT_EQ(names(), all);
  fs::last_write_time(dir_ / "a-0.tar", time + std::chrono::nanoseconds(1000));
  expect_error(ErrorCode::kInput, {"a-0.tar"}, [&] { names(); });
  write_file(dir_ / "a-0.tar", tar);
  // Any damage is noticed, and it is made again.
  EXPECT_EQ(names(), all);
  const std::string fresh = read_file(dir_ / "a-0.tar.index");
  for (size_t at = 0; at < fresh.size(); at += 7) {
    std::string damaged = fresh;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    write_file(dir_ / "a-0.tar.index", damaged);
    ASSERT_EQ(names(), all) << at;
    ASSERT_EQ(read_file(dir_ / "a-0.tar.index"), fresh) << at;
  }
  for (const size_t bytes : {size_t{0}, size_t{10}, fresh.size() - 1}) {
    write_file(dir_ / "a-0.tar.index", fresh.substr(0, bytes));
    EXPECT_EQ(names(), all);
  }
  EXPECT_EQ(index.size(), fresh.size());
}

TEST_F(Shards, AFolderThatCannotBeWrittenToIsEnough) {
  write_plain();
  fs::create_directories(dir_ / "a-0.tar.index");  // a file of this name cannot be made
  EXPECT_EQ(open_dataset(path("a-{0..2}.tar")).whole->size(), 12u);
  EXPECT_TRUE(fs::is_directory(dir_ / "a-0.tar.index"));
  for (const auto& entry : fs::directory_iterator(dir_.path())) {
    EXPECT_EQ(entry.path().string().find(".tmp-"), std::string::npos) << entry.path();
  }
}

// Many threads, and more shards than are open at a time.
TEST_F(Shards, AreReadByManyThreads) {
  for (int shard = 0; shard < 80; ++shard) {
    write("a-" + std::to_string(100 + shard) + ".tar",
          {{"cat/0.png", numbered_png(static_cast<uint64_t>(2 * shard))},
           {"dog/1.png", numbered_png(static_cast<uint64_t>(2 * shard + 1))}});
  }
  const Dataset data = *open_dataset(path(), {.cache_bytes = 0}).whole;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t i = 0; i < data.size(); ++i) {
        const size_t sample = (i * 37 + static_cast<size_t>(thread)) % data.size();
        EXPECT_GT(data.decode(sample)->width, 0);
      }
    });
  }
  threads.clear();
  // One that is replaced by a shorter one meanwhile is refused, and not read beyond its end.
  write_file(dir_ / "a-100.tar", "");
  expect_error(ErrorCode::kInput, {"a-100.tar"}, [&] { data.decode(0); });
}

}  // namespace
}  // namespace vig::test
