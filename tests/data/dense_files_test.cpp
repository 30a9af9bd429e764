// What the readers of annotated images share.
#include "vig/data/dense_files.h"

#include <gtest/gtest.h>

#include <new>

#include "data/archive_bytes.h"
#include "data/opened.h"
#include "support/errors.h"

namespace vig::test {
namespace {

using Names = std::vector<std::string>;

TEST(DenseFiles, NamesOfSplits) {
  for (const auto& [name, split] :
       std::vector<std::pair<std::string, std::string>>{{"train", "train"},
                                                        {"training", "train"},
                                                        {"val", "val"},
                                                        {"valid", "val"},
                                                        {"validation", "val"},
                                                        {"test", "test"},
                                                        {"testing", "test"},
                                                        {"Train", ""},
                                                        {"trains", ""},
                                                        {"", ""}}) {
    EXPECT_EQ(split_of(name), split) << name;
  }
}

TEST(DenseFiles, PartsOfNames) {
  EXPECT_EQ(base_name("a.b/c.d/e.tar.gz"), "e.tar");
  EXPECT_EQ(base_name("plain"), "plain");
  EXPECT_EQ(folder_of("a.b/c/e.png"), "a.b/c/");
  EXPECT_EQ(folder_of("e.png"), "");
  EXPECT_EQ(without_extension("a.b/c.png"), "a.b/c");
  EXPECT_EQ(without_extension("a.b/c"), "a.b/c") << "the dot is the folder's";
  EXPECT_EQ(without_extension("a/.c"), "a/.c");
}

TEST(DenseFiles, SplitsInTheOrderOfPreference) {
  const Names there = {"train", "val"};
  EXPECT_EQ(choose_splits({"test", "val", "train", "val"}, there, false), (Names{"val", "train"}));
  EXPECT_EQ(choose_splits({"test", "val", "train"}, there, true), Names{"val"});
  EXPECT_EQ(choose_splits({"test"}, there, false), Names());
  expect_error(ErrorCode::kUsage, {"validation"}, [&] {
    choose_splits({"train", "validation"}, there, false);
  });
}

TEST(DenseFiles, FoldersThatHoldEverythingElse) {
  const auto roots = [](const Files& files) {
    return FilesByName(open_tar("x.tar", in_memory(tar_bytes(files)))).roots();
  };
  // What is hidden does not count.
  EXPECT_EQ(roots({{"a/b/1", ""}, {"a/b/c/2", ""}, {".x", ""}, {"__MACOSX/1", ""}, {"a/.y", ""}}),
            (Names{"", "a/", "a/b/"}));
  EXPECT_EQ(roots({{"a/1", ""}, {"ab/2", ""}}), Names{""});
  EXPECT_EQ(roots({{"a/1", ""}, {"2", ""}}), Names{""});
  EXPECT_EQ(roots({}), Names{""});
  EXPECT_EQ(roots({{"1/2/3/4/5/6/7/8/9/x", ""}}).size(), 8u);
}

TEST(ExamineSamples, BadOnesAreNamedInOrder) {
  for (const int threads : {0, 1, 3}) {
    DataReport report;
    const std::vector<size_t> good = examine_samples(
        7, {.threads = threads},
        [](size_t i) {
          if (i % 3 == 1) fail("sample {}", i);
        },
        report);
    EXPECT_EQ(good, (std::vector<size_t>{0, 2, 3, 5, 6}));
    EXPECT_EQ(report.problems, (Names{"sample 1", "sample 4"}));
    EXPECT_EQ(report.problem_count, 2u);
  }
}

// A check that runs out of memory must not end as a good one.
TEST(ExamineSamples, OtherExceptionsAreThrown) {
  for (const int threads : {1, 3}) {
    DataReport report;
    EXPECT_THROW(examine_samples(
                     9, {.threads = threads},
                     [](size_t i) {
                       if (i == 4) throw std::bad_alloc();
                     },
                     report),
                 std::bad_alloc);
  }
}

TEST(DataReport, ProblemsOfTwoReports) {
  DataReport first, second;
  for (int i = 0; i < 80; ++i) {
    first.add("first " + std::to_string(i));
    second.add("second " + std::to_string(i));
  }
  first.add(second);
  EXPECT_EQ(first.problem_count, 160u);
  ASSERT_EQ(first.problems.size(), DataReport::kMostShown);
  EXPECT_EQ(first.problems[79], "first 79");
  EXPECT_EQ(first.problems[99], "second 19");
}

}  // namespace
}  // namespace vig::test
