#include "vig/data/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

#include "data/archive_bytes.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/zip_bytes.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

// `count` images each, all different.
Files images(const std::vector<std::string>& folders, int count) {
  Files files;
  uint64_t number = 0;
  for (const std::string& folder : folders) {
    for (int i = 0; i < count; ++i) {
      files[folder + "/" + std::to_string(i) + ".png"] = numbered_png(number++);
    }
  }
  return files;
}

struct Listed {
  std::vector<std::string> classes, names;
  std::vector<int> labels;
  std::vector<Image> images;
  bool operator==(const Listed&) const = default;
};

Listed list(const Dataset& dataset) {
  Listed listed;
  listed.classes = dataset.classes();
  for (size_t i = 0; i < dataset.size(); ++i) {
    listed.names.emplace_back(dataset.name(i));
    listed.labels.push_back(dataset.label(i));
    listed.images.push_back(*dataset.decode(i));
  }
  return listed;
}

std::vector<std::string> names(const Dataset& dataset) { return list(dataset).names; }

// Opens files that are given by name, as a folder.
class OpenFiles {
 public:
  explicit OpenFiles(const Files& files) { write_files(dir_.path(), files); }
  DatasetSplits operator()(const DatasetOptions& options = {}) const {
    return open_dataset(path(), options);
  }
  std::string path() const { return dir_.path().string(); }
  const TempDir& dir() const { return dir_; }

 private:
  TempDir dir_;
};

TEST(Dataset, FolderAndArchivesAreTheSame) {
  // "a b" and "a" sort differently with and without what follows.
  Files files = images({"train/a", "train/a b", "train/Z/deep", "val/a", "val/a b", "val/Z"}, 4);
  files["classes.txt"] = "a\na b\nZ\n";
  const OpenFiles folder(files);
  const DatasetSplits expected = folder();
  ASSERT_TRUE(expected.train && expected.val && !expected.test && !expected.whole);
  EXPECT_EQ(expected.classes(), (std::vector<std::string>{"Z", "a", "a b"}));
  EXPECT_EQ(expected.train->size(), 12u);
  EXPECT_EQ(expected.train->name(0), "Z/deep/0.png");
  EXPECT_EQ(expected.train->name(4), "a/0.png");
  EXPECT_EQ(expected.train->location(4), folder.path() + "/train/a/0.png");
  const Listed train = list(*expected.train), val = list(*expected.val);
  const std::vector<std::string> split = names(hold_out(*expected.train, 5, 1).validation);

  std::string backwards;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    backwards += tar_entry({.name = "./top/" + file->first}, file->second);
  }
  const TempDir dir;
  for (const std::string& bytes :
       {tar_bytes(files), tar_bytes(files, "wrapped/twice/"), backwards + tar_end(),
        gzip_bytes(tar_bytes(files)), zip_bytes(files, ZipKind::kStored),
        zip_bytes(files, ZipKind::kDeflated, "wrapped/"), zip_bytes(files, ZipKind::kZip64)}) {
    const std::string path = (dir / "archive").string();
    write_file(path, bytes);
    const DatasetSplits splits = open_dataset(path);
    ASSERT_TRUE(splits.train && splits.val && !splits.test && !splits.whole);
    EXPECT_EQ(list(*splits.train), train);
    EXPECT_EQ(list(*splits.val), val);
    EXPECT_EQ(splits.ignored, 1u);
    EXPECT_EQ(names(hold_out(*splits.train, 5, 1).validation), split);
  }
}

TEST(Dataset, OneSplit) {
  const OpenFiles open(images({"cat", "dog"}, 2));
  const DatasetSplits splits = open();
  ASSERT_TRUE(splits.whole && !splits.train && !splits.val && !splits.test);
  EXPECT_EQ(names(*splits.whole),
            (std::vector<std::string>{"cat/0.png", "cat/1.png", "dog/0.png", "dog/1.png"}));
  EXPECT_EQ(splits.whole->label(1), 0);
  EXPECT_EQ(splits.whole->label(2), 1);
}

TEST(Dataset, NamesOfSplits) {
  for (const std::string val : {"val", "valid", "validation"}) {
    const OpenFiles open(
        images({"train/a", "train/b", val + "/a", val + "/b", "test/a", "test/b"}, 1));
    const DatasetSplits splits = open();
    EXPECT_TRUE(splits.train && splits.val && splits.test && !splits.whole) << val;
  }
  const DatasetSplits only_test = OpenFiles(images({"test/a", "test/b"}, 1))();
  EXPECT_TRUE(only_test.test && !only_test.train);
  // A train is a vehicle, too.
  const DatasetSplits vehicles = OpenFiles(images({"boat", "train"}, 1))();
  EXPECT_EQ(vehicles.whole->classes(), (std::vector<std::string>{"boat", "train"}));
}

TEST(Dataset, OtherFilesAreCounted) {
  Files files = images({"photos/cat", "photos/dog"}, 2);
  for (const char* name :
       {"photos/classes.txt", "photos/cat/.DS_Store", "photos/cat/._0.png",
        "__MACOSX/photos/cat/0.png", "photos/.git/a/0.png", "photos/cat/notes"}) {
    files[name] = "x";
  }
  files["photos/cat/UPPER.PNG"] = numbered_png(9);
  const DatasetSplits splits = OpenFiles(files)();
  EXPECT_EQ(splits.ignored, 5u);  // hidden folders are not even listed
  EXPECT_EQ(splits.whole->size(), 5u);
  EXPECT_EQ(splits.classes(), (std::vector<std::string>{"cat", "dog"}));
  // Beside splits an image means nothing.
  files = images({"train/cat", "train/dog"}, 1);
  files["preview.png"] = numbered_png(1);
  EXPECT_EQ(OpenFiles(files)().ignored, 1u);
  // Names that point upwards are as good as none.
  const TempDir dir;
  files = images({"cat", "dog", "../fox"}, 2);
  write_file(dir / "x.tar", tar_bytes(files));
  EXPECT_EQ(open_dataset((dir / "x.tar").string()).whole->size(), 4u);
}

TEST(Dataset, WrongLayoutsAreExplained) {
  const auto expect = [](const Files& files, std::initializer_list<std::string> words) {
    const OpenFiles open(files);
    expect_error(ErrorCode::kInput, words, [&] { open(); });
    expect_error(ErrorCode::kInput, {open.path(), "CLASS/IMAGE"}, [&] { open(); });
  };
  expect({}, {"no images among 0 files"});
  expect({{"readme.txt", "x"}, {"cat/1.psd", "x"}}, {"no images among 2 files", ".jpg"});
  expect(images({"."}, 2), {"0.png", "no class folder"});
  expect(images({"cat", "."}, 2), {"0.png", "no class folder"});
  expect(images({"cat"}, 2), {"at least 2 classes, found 1 (cat)"});
  expect(images({"all/photos/cat"}, 2), {"at least 2 classes, found 1 (cat)"});
  expect(images({"train/cat"}, 2), {"at least 2 classes, found 1 (cat)"});
  expect(images({"train", "test"}, 2), {"train/0.png", "no class folder"});
  expect(images({"train"}, 2), {"train/0.png", "no class folder"});
  expect(images({"train/cat", "train/dog", "extra/cat"}, 1), {"\"train\"", "beside it extra"});

  Files files = images({"cat", "dog"}, 1);
  files["fox/1.psd"] = "x";
  expect(files, {"\"fox\"", "no images"});
  const OpenFiles empty(images({"cat", "dog"}, 1));
  fs::create_directories(empty.dir() / "fox");
  expect_error(ErrorCode::kInput, {"\"fox\"", "no images"}, [&] { empty(); });
  const TempDir dir;
  const Files two = images({"cat", "fox"}, 1);
  write_file(dir / "x.tar", tar_header({.name = "dog", .type = '2', .target = "cat"}) +
                                tar_header({.name = "list", .type = '2', .target = "fox/0.png"}) +
                                tar_bytes(two));
  std::vector<ZipFile> entries = {{.name = "list", .data = "fox/0.png", .link = true},
                                  {.name = "dog", .data = "cat", .link = true}};
  for (const auto& [name, bytes] : two) entries.push_back({.name = name, .data = bytes});
  write_file(dir / "x.zip", zip_archive(entries));
  for (const char* name : {"x.tar", "x.zip"}) {
    expect_error(ErrorCode::kInput, {name, "\"dog\"", "no images", "CLASS/IMAGE"},
                 [&] { open_dataset((dir / name).string()); });
  }
  const OpenFiles looped(images({"cat", "dog"}, 1));
  fs::create_directory_symlink(".", looped.dir() / "all");
  EXPECT_EQ(looped().classes(), (std::vector<std::string>{"cat", "dog"}));

  const OpenFiles one(images({"cat"}, 2));
  EXPECT_EQ(one({.min_classes = 1}).whole->size(), 2u);
}

TEST(Dataset, PartsThatDisagreeAreExplained) {
  const OpenFiles open(
      images({"train/cat", "train/dog", "train/fox", "test/cat", "test/dgo", "test/fox"}, 1));
  expect_error(ErrorCode::kInput, {"different classes", "only in train: dog", "only in test: dgo"},
               [&] { open(); });
  std::vector<std::string> folders = {"test/x"};
  for (int i = 0; i < 9; ++i) folders.push_back("train/" + std::to_string(i));
  const OpenFiles many(images(folders, 1));
  expect_error(ErrorCode::kInput, {"only in train: 0, 1, 2, 3, 4 and 4 more"}, [&] { many(); });
  const OpenFiles both(images({"train/a", "train/b", "val/a", "val/b", "valid/a"}, 1));
  expect_error(ErrorCode::kInput, {"found val, valid,"}, [&] { both(); });
  EXPECT_EQ(both({.splits = {"train"}}).train->size(), 2u);
}

// As competitions have it: test images without labels, or too few of them for every class.
TEST(Dataset, UnusedSplitsDoNotMatter) {
  for (const char* test : {"test", "test/cat", "test/cat/deep", "test/other"}) {
    const OpenFiles open(images({"train/cat", "train/dog", "val/cat", "val/dog", test}, 2));
    EXPECT_FALSE(survives([&] { open(); })) << test;
    const DatasetSplits both = open({.splits = {"train", "val"}});
    ASSERT_TRUE(both.train && both.val && !both.test && !both.whole) << test;
    EXPECT_EQ(both.classes(), (std::vector<std::string>{"cat", "dog"}));
    EXPECT_EQ(both.there, (std::vector<std::string>{"train", "val", "test"}));
    EXPECT_EQ(both.ignored, 0u);

    const DatasetSplits val = open({.splits = {"val"}});
    EXPECT_TRUE(val.val && !val.train && !val.test);
    const DatasetSplits first =
        open({.splits = {"validation", "train", "test"}, .first_split_only = true});
    EXPECT_TRUE(first.val && !first.train && !first.test);
  }
}

TEST(Dataset, NoPartThatWasAskedFor) {
  const OpenFiles open(images({"train/cat", "train/dog"}, 2));
  for (const bool first_split_only : {false, true}) {
    const DatasetSplits none =
        open({.splits = {"test", "val"}, .first_split_only = first_split_only});
    EXPECT_TRUE(!none.whole && !none.train && !none.val && !none.test);
    EXPECT_EQ(none.there, std::vector<std::string>{"train"});
    const DatasetSplits found =
        open({.splits = {"test", "val", "train"}, .first_split_only = first_split_only});
    EXPECT_TRUE(found.train && !found.val && !found.test);
  }
  expect_error(ErrorCode::kUsage, {"the split exam", "train, val, test"},
               [&] { open({.splits = {"exam"}}); });
  // Data without splits is read for any split.
  const DatasetSplits whole = OpenFiles(images({"cat", "dog"}, 1))({.splits = {"test"}});
  EXPECT_EQ(whole.whole->size(), 2u);
  EXPECT_TRUE(whole.there.empty());
}

TEST(Dataset, DamagedImagesRaiseWithTheirLocation) {
  Files files = images({"cat", "dog"}, 2);
  files["cat/1.png"].resize(files["cat/1.png"].size() / 2);
  const OpenFiles open(files);
  const Dataset dataset = *open().whole;
  for (int i = 0; i < 2; ++i) {
    expect_error(ErrorCode::kInput, {open.path() + "/cat/1.png: "}, [&] { dataset.decode(1); });
  }
  EXPECT_NO_THROW(dataset.decode(0));
}

TEST(Dataset, DecodedImagesAreKeptWithinLimits) {
  const Files files = images({"cat", "dog"}, 4);
  const auto kept = [&](size_t cache_bytes) {
    const OpenFiles open(files);
    const Dataset dataset = *open({.cache_bytes = cache_bytes}).whole;
    const Listed before = list(dataset);
    for (const auto& [name, bytes] : files) fs::remove(open.dir() / name);
    size_t count = 0;
    for (size_t i = 0; i < dataset.size(); ++i) {
      if (!survives([&] { EXPECT_EQ(*dataset.decode(i), before.images[i]); })) continue;
      EXPECT_EQ(i, count++);  // first come, first kept
    }
    return count;
  };
  EXPECT_EQ(kept(0), 0u);
  EXPECT_EQ(kept(1 << 20), 8u);
  const size_t some = kept(700);  // each has 60 to 90 bytes of pixels and some bookkeeping
  EXPECT_GT(some, 0u);
  EXPECT_LT(some, 8u);
}

TEST(Dataset, ManyThreadsDecode) {
  const OpenFiles open(images({"cat", "dog"}, 20));
  const Dataset dataset = *open().whole, uncached = *open({.cache_bytes = 0}).whole;
  const Listed expected = list(uncached);
  std::vector<Listed> results(4);
  {
    std::vector<std::jthread> threads;
    for (Listed& result : results) threads.emplace_back([&] { result = list(dataset); });
  }
  for (const Listed& result : results) EXPECT_EQ(result, expected);
}

TEST(Dataset, Subsets) {
  const DatasetSplits splits = OpenFiles(images({"cat", "dog"}, 3))();
  const std::vector<size_t> chosen = {4, 0, 4};
  const Dataset subset = splits.whole->subset(chosen);
  EXPECT_EQ(subset.classes(), splits.classes());
  ASSERT_EQ(subset.size(), 3u);
  EXPECT_EQ(subset.name(0), "dog/1.png");
  EXPECT_EQ(subset.label(1), 0);
  const std::vector<size_t> wrong = {6};
  expect_error(ErrorCode::kUsage, {"sample 6 of 6"}, [&] { splits.whole->subset(wrong); });
}

// Images of each class, of which nothing but the names matters.
Dataset of_sizes(const TempDir& dir, const std::map<std::string, int>& sizes) {
  Files files;
  for (const auto& [name, count] : sizes) {
    for (int i = 0; i < count; ++i) files[name + "/" + std::to_string(i) + ".jpg"] = "";
  }
  write_file(dir / "x.tar", tar_bytes(files));
  return *open_dataset((dir / "x.tar").string()).whole;
}

std::set<std::string> name_set(const Dataset& dataset) {
  std::set<std::string> set;
  for (size_t i = 0; i < dataset.size(); ++i) set.emplace(dataset.name(i));
  return set;
}

std::vector<int> counts(const Dataset& dataset) {
  std::vector<int> result(dataset.classes().size());
  for (size_t i = 0; i < dataset.size(); ++i) ++result[static_cast<size_t>(dataset.label(i))];
  return result;
}

TEST(Split, TakesFromEveryClassInProportion) {
  const TempDir dir;
  const Dataset dataset = of_sizes(dir, {{"a", 100}, {"b", 50}, {"c", 10}, {"d", 1}});
  EXPECT_EQ(counts(hold_out(dataset, 16, 1).validation), (std::vector<int>{10, 5, 1, 0}));
  for (const size_t count : {20u, 30u, 40u, 100u}) {
    const HeldOut split = hold_out(dataset, count, 1);
    EXPECT_EQ(split.validation.size(), count);
    EXPECT_EQ(split.train.size() + split.validation.size(), dataset.size());
    std::set<std::string> all = name_set(split.train);
    all.merge(name_set(split.validation));
    EXPECT_EQ(all, name_set(dataset));
    const std::vector<int> sizes = {100, 50, 10, 1}, got = counts(split.validation);
    for (size_t c = 0; c < 4; ++c) {
      EXPECT_NEAR(got[c], double(count) * sizes[c] / 161, 1) << "class " << c << " of " << count;
      EXPECT_GE(counts(split.train)[c], 1);
    }
  }
  // Where a class would be used up, the others give more.
  EXPECT_EQ(hold_out(dataset, 157, 1).validation.size(), 157u);
  EXPECT_EQ(counts(hold_out(dataset, 160, 1).train), (std::vector<int>{1, 1, 1, 1}));
  // Of 2.33, 3 and 4.67 the last loses most by rounding.
  const TempDir other;
  EXPECT_EQ(counts(hold_out(of_sizes(other, {{"a", 7}, {"b", 9}, {"c", 14}}), 10, 1).validation),
            (std::vector<int>{2, 3, 5}));
}

TEST(Split, LeavesNoClassOfTwoWithout) {
  const TempDir dir;
  const Dataset dataset = of_sizes(dir, {{"a", 100}, {"b", 3}, {"c", 2}, {"d", 1}});
  EXPECT_EQ(counts(hold_out(dataset, 10, 1).validation), (std::vector<int>{10, 1, 1, 0}));
  EXPECT_EQ(counts(hold_out(dataset, 10, 1).train), (std::vector<int>{90, 2, 1, 1}));
  EXPECT_EQ(counts(hold_out(dataset, 1, 1).validation), (std::vector<int>{1, 1, 1, 0}));
  // What each class gives is what it would give anyway, so a larger part holds a smaller one.
  const std::set<std::string> small = name_set(hold_out(dataset, 1, 1).validation),
                              large = name_set(hold_out(dataset, 10, 1).validation);
  EXPECT_TRUE(std::includes(large.begin(), large.end(), small.begin(), small.end()));
}

TEST(Split, DependsOnSeedAndNamesAlone) {
  const TempDir dir;
  const Dataset dataset = of_sizes(dir, {{"a", 60}, {"b", 60}});
  const auto chosen = [](const Dataset& from, size_t count, uint64_t seed) {
    return name_set(hold_out(from, count, seed).validation);
  };
  EXPECT_EQ(chosen(dataset, 20, 1), chosen(dataset, 20, 1));
  EXPECT_NE(chosen(dataset, 20, 1), chosen(dataset, 20, 2));
  EXPECT_EQ(*chosen(dataset, 1, 1).begin(), "a/20.jpg");  // the same in any version
  // Neither the order of the list nor another class changes what is taken.
  std::vector<size_t> backwards(dataset.size());
  for (size_t i = 0; i < backwards.size(); ++i) backwards[i] = backwards.size() - 1 - i;
  EXPECT_EQ(chosen(dataset.subset(backwards), 20, 1), chosen(dataset, 20, 1));
  const Dataset more = of_sizes(dir, {{"a", 60}, {"b", 60}, {"c", 30}});
  std::set<std::string> old = chosen(more, 25, 1);
  std::erase_if(old, [](const std::string& name) { return name.starts_with("c/"); });
  EXPECT_EQ(old, chosen(dataset, 20, 1));
  // A larger validation part holds the smaller one.
  const std::set<std::string> small = chosen(dataset, 20, 1), large = chosen(dataset, 40, 1);
  EXPECT_TRUE(std::includes(large.begin(), large.end(), small.begin(), small.end()));
}

TEST(Split, NonsenseIsRefused) {
  const TempDir dir;
  const Dataset dataset = of_sizes(dir, {{"a", 3}, {"b", 3}});
  for (const size_t count : {0u, 6u, 7u}) {
    expect_error(ErrorCode::kUsage, {"of 6 samples"}, [&] { hold_out(dataset, count, 1); });
  }
  const Dataset thin = of_sizes(dir, {{"a", 1}, {"b", 1}});
  expect_error(ErrorCode::kInput, {"two images"}, [&] { hold_out(thin, 1, 1); });
}

}  // namespace
}  // namespace vig::test
