// Lists of images and labels as CSV files: what is read, what is left out, what is refused.
#include "vig/data/csv_list.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>

#include "data/archive_bytes.h"
#include "support/errors.h"
#include "support/files.h"
#include "vig/data/dataset.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

// "PATH LABEL" or "PATH LABEL SPLIT" of every row.
Texts rows(const CsvList& list) {
  Texts texts;
  for (const CsvRow& row : list.rows) {
    texts.push_back(row.path + " " + list.labels[row.label] +
                    (list.has_splits ? " " + std::string(row.split) : ""));
  }
  return texts;
}

Texts rows(const std::string& text) {
  const CsvList list = parse_csv_list("x.csv", text);
  EXPECT_EQ(list.problems.problem_count, 0u) << list.problems.problems.front();
  return rows(list);
}

// The list has the rows that are good, and one sentence on the row that is not.
void expect_left_out(const std::string& text, const Texts& good, const std::string& sentence) {
  const CsvList list = parse_csv_list("x.csv", text);
  EXPECT_EQ(rows(list), good);
  EXPECT_EQ(list.problems.left_out, 1u);
  ASSERT_EQ(list.problems.problems.size(), 1u);
  EXPECT_EQ(list.problems.problems.front(), "x.csv: " + sentence);
}

TEST(CsvList, RowsWithAndWithoutHeader) {
  const Texts expected = {"a.png cat", "b.png dog"};
  EXPECT_EQ(rows("a.png,cat\nb.png,dog\n"), expected);
  EXPECT_EQ(rows("a.png,cat\nb.png,dog"), expected) << "the last line may have no end";
  EXPECT_EQ(rows("path,label\na.png,cat\nb.png,dog\n"), expected);
  EXPECT_EQ(rows("Path,LABEL\na.png,cat\nb.png,dog\n"), expected);
  EXPECT_EQ(rows("\xef\xbb\xbfpath,label\r\na.png,cat\r\n\r\nb.png,dog\r"), expected);
  EXPECT_EQ(rows("\n\na.png,cat\n\nb.png,dog\n\n"), expected) << "empty lines do not count";
  EXPECT_EQ(rows("path,label\npath,label\n"), Texts{"path label"}) << "only the first is a header";
  EXPECT_EQ(rows(".//a//b.png,cat\n/abs//c.png,cat\n"), (Texts{"a/b.png cat", "/abs/c.png cat"}));
  EXPECT_EQ(rows("path,label\n"), Texts());
  EXPECT_EQ(rows(""), Texts());
}

TEST(CsvList, QuotedFields) {
  EXPECT_EQ(rows("\"a, b.png\",\"say \"\"cat\"\"\"\n\"c.png\",\"\"\"\"\n"),
            (Texts{"a, b.png say \"cat\"", "c.png \""}));
  EXPECT_EQ(rows("\"path\",\"label\"\r\n\"a.png\",cat\r\n"), Texts{"a.png cat"});
  EXPECT_EQ(rows("\"two\nlines.png\",cat\r\nb.png,\"x\r\ny\"\n"),
            (Texts{"two\nlines.png cat", "b.png x\r\ny"}));
  const std::string longest(kMaxCsvField, 'x');
  EXPECT_EQ(rows(longest + ",\"" + longest + "\"\n"), Texts{longest + " " + longest});
  EXPECT_EQ(rows("a\"b.png,ca\"t\n"), Texts{"a\"b.png ca\"t"}) << "a quote inside is a quote";
  // Lines are counted through them.
  expect_left_out("\"a\n\n.png\",cat\nb.png,\n", {"a\n\n.png cat"}, "line 4: the label is empty");
}

TEST(CsvList, Splits) {
  const CsvList list = parse_csv_list(
      "x.csv", "path,label,split\na,cat,train\nb,cat,validation\nc,dog,test\nd,dog,val\n");
  EXPECT_TRUE(list.has_splits);
  EXPECT_EQ(rows(list), (Texts{"a cat train", "b cat val", "c dog test", "d dog val"}));
  EXPECT_EQ(list.labels, (Texts{"cat", "dog"}));
  EXPECT_FALSE(parse_csv_list("x.csv", "a,cat\n").has_splits);
  EXPECT_TRUE(parse_csv_list("x.csv", "a,cat,train\n").has_splits) << "without a header, too";
  expect_left_out("a,cat,train\nb,cat,dev\n", {"a cat train"},
                  "line 2: expected the split train, val or test, found \"dev\"");
  expect_left_out("a,cat,train\nb,cat,\n", {"a cat train"},
                  "line 2: expected the split train, val or test, found \"\"");
}

TEST(CsvList, BadRowsAreNamedAndLeftOut) {
  expect_left_out("path,label\na\nb,dog\n", {"b dog"}, "line 2: expected 2 columns, found 1");
  expect_left_out("a,cat\nb,dog,train\n", {"a cat"}, "line 2: expected 2 columns, found 3");
  expect_left_out("a,cat\n,,,,,,,,,\n", {"a cat"}, "line 2: expected 2 columns, found more than 3");
  expect_left_out("a,cat,val\nb,dog\n", {"a cat val"}, "line 2: expected 3 columns, found 2");
  expect_left_out("a,cat\n,dog\n", {"a cat"}, "line 2: the path is empty");
  expect_left_out("a,cat\n./,dog\n", {"a cat"}, "line 2: the path is empty");
  expect_left_out("a,cat\n/,dog\n", {"a cat"}, "line 2: the path is empty");
  expect_left_out("a,cat\nb,\"\"\n", {"a cat"}, "line 2: the label is empty");
  expect_left_out("a,cat\nb,\xff\n", {"a cat"}, "line 2: the label \"\\xff\" is not UTF-8");
  expect_left_out(std::string("a,cat\nb\0.png,dog\n", 17), {"a cat"}, "line 2: a zero byte");
  expect_left_out(std::string("a,cat\nb,d\0g\n", 12), {"a cat"}, "line 2: a zero byte");
  expect_left_out("a,cat\n\"b\"c,dog\n", {"a cat"},
                  "line 2: expected a comma after a closing quote, found \"c\"");
  expect_left_out("a,cat\nb," + std::string(kMaxCsvField + 1, 'x') + "\n", {"a cat"},
                  "line 2: a field of over 4096 bytes (a fixed limit)");
  expect_left_out("a,cat\nb,\"" + std::string(2 * kMaxCsvField + 2, '"') + "\"\n", {"a cat"},
                  "line 2: a field of over 4096 bytes (a fixed limit)");
  expect_left_out("a,cat\nb,dog\n./a,dog\n", {"a cat", "b dog"},
                  "line 3: names \"a\" again, which line 1 has named");
}

TEST(CsvList, StructuresThatMakeNoSenseAreRefused) {
  const auto refused = [](const std::string& text, const std::string& words) {
    expect_error(ErrorCode::kInput, {"x.csv: ", words}, [&] { parse_csv_list("x.csv", text); });
  };
  const std::string columns = "expected the columns path,label or path,label,split in line ";
  refused("a.png\n", columns + "1, found 1");
  refused("a.png;cat\n", columns + "1, found 1");
  refused("\n\na,b,c,d\n", columns + "3, found more than 3");
  refused("a,cat\nb,\"dog\nc,cat\n", "the quote opened in line 2 is not closed");
  refused("\"", "the quote opened in line 1 is not closed");
}

TEST(CsvList, ProblemsAreCountedButNotAllKept) {
  std::string text = "a,cat\n";
  for (int i = 0; i < 1000; ++i) text += ",\n";
  const CsvList list = parse_csv_list("x.csv", text);
  EXPECT_EQ(list.problems.problem_count, 1000u);
  EXPECT_EQ(list.problems.left_out, 1000u);
  EXPECT_EQ(list.problems.problems.size(), DataReport::kMostShown);
}

TEST(CsvList, HostileListsTakeBoundedTime) {
  const auto start = std::chrono::steady_clock::now();
  constexpr size_t kMany = 400000;
  std::string commas = "a,b\n" + std::string(4 * kMany, ','), same, quotes = "a,\"";
  for (size_t i = 0; i < kMany; ++i) same += "a,b\n";
  for (size_t i = 0; i < kMany; ++i) quotes += "\"\"\n";
  std::string labels;
  for (size_t i = 0; i < kMany; ++i) labels += fmt::format("{},{}\n", i, kMany - i);
  EXPECT_EQ(parse_csv_list("x.csv", commas).rows.size(), 1u);
  EXPECT_EQ(parse_csv_list("x.csv", same).rows.size(), 1u);
  EXPECT_EQ(parse_csv_list("x.csv", quotes + "\"").rows.size(), 0u);
  EXPECT_EQ(parse_csv_list("x.csv", labels).labels.size(), kMany);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 30) << "quadratic time would take hours";
}

class CsvDataset : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    write_file(folder_ / "lists/list.csv", text);
    return (folder_ / "lists/list.csv").string();
  }
  void image(const std::string& name, uint64_t number) {
    write_file(folder_ / name, numbered_png(number));
  }

  TempDir folder_;
};

TEST_F(CsvDataset, IsThatOfTheFolders) {
  Files files;
  std::string text = "path,label\n";
  uint64_t number = 0;
  // Neither rows nor classes in their order.
  for (const char* name : {"dog/2.png", "ant/1.png", "dog/1.png", "cow/1.png", "ant/0.png"}) {
    files[name] = numbered_png(number++);
    text += fmt::format("{},{}\n", name, std::string(name).substr(0, 3));
  }
  write_files(folder_ / "lists", files);
  const Dataset folders = *open_dataset((folder_ / "lists").string()).whole;
  const DatasetSplits splits = open_dataset(write(text));
  ASSERT_TRUE(splits.whole && !splits.train && !splits.val && !splits.test);
  EXPECT_EQ(splits.there, Texts());
  EXPECT_EQ(splits.report.samples, 5u);
  EXPECT_EQ(splits.report.left_out, 0u);
  const Dataset& listed = *splits.whole;
  EXPECT_EQ(listed.classes(), folders.classes());
  ASSERT_EQ(listed.size(), folders.size());
  for (size_t i = 0; i < listed.size(); ++i) {
    EXPECT_EQ(listed.name(i), folders.name(i));
    EXPECT_EQ(listed.label(i), folders.label(i));
    EXPECT_EQ(listed.location(i), folders.location(i));
    EXPECT_EQ(listed.path(i), folders.path(i));
    EXPECT_EQ(*listed.decode(i), *folders.decode(i));
  }
  const HeldOut a = hold_out(listed, 2, 3), b = hold_out(folders, 2, 3);
  ASSERT_EQ(a.validation.size(), b.validation.size());
  for (size_t i = 0; i < a.validation.size(); ++i) {
    EXPECT_EQ(a.validation.name(i), b.validation.name(i));
  }
  EXPECT_EQ(recognise_data((folder_ / "lists/list.csv").string()), DataKind::kClasses);
}

TEST_F(CsvDataset, PathsAreRelativeToTheListOrAbsolute) {
  image("lists/a.png", 1);
  image("beside/b.png", 2);
  image("c.dat", 3);
  const std::string c = (folder_ / "c.dat").string();
  const Dataset data = *open_dataset(write("a.png,x\n../beside/b.png,y\n" + c + ",y\n")).whole;
  ASSERT_EQ(data.size(), 3u);
  EXPECT_EQ(data.location(0), (folder_ / "lists/a.png").string());
  EXPECT_EQ(data.path(1), (folder_ / "lists/../beside/b.png").string());
  EXPECT_EQ(data.path(2), c);
  EXPECT_EQ(data.location(2), c);
  for (size_t i = 0; i < 3; ++i) EXPECT_NO_THROW(data.decode(i)) << i;
}

TEST_F(CsvDataset, SplitsAreThoseOfTheColumn) {
  for (int i = 0; i < 6; ++i) image(fmt::format("lists/{}.png", i), static_cast<uint64_t>(i));
  const std::string path = write(
      "path,label,split\n0.png,b,train\n1.png,a,train\n2.png,a,val\n3.png,b,val\n4.png,a,test\n"
      "missing.png,c,test\n");
  const DatasetSplits trained = open_dataset(path, {.splits = {"train", "val"}});
  ASSERT_TRUE(trained.train && trained.val && !trained.test && !trained.whole);
  EXPECT_EQ(trained.there, (Texts{"train", "val", "test"}));
  EXPECT_EQ(trained.train->name(0), "1.png");
  EXPECT_EQ(trained.val->size(), 2u);
  EXPECT_EQ(trained.report.left_out, 0u) << "the test split does not matter here";
  expect_error(ErrorCode::kInput, {"different classes", "only in train: b"},
               [&] { open_dataset(path); });
  const DatasetSplits first =
      open_dataset(path, {.min_classes = 1, .splits = {"test"}, .first_split_only = true});
  EXPECT_EQ(first.test->size(), 1u);
  EXPECT_EQ(first.report.problem_count, 1u);
  EXPECT_FALSE(open_dataset(write("0.png,a,val\n1.png,b,val\n"), {.splits = {"train"}}).train);
}

TEST_F(CsvDataset, MissingFilesAreNamedAndLeftOut) {
  image("lists/a.png", 1);
  image("lists/b.png", 2);
  fs::create_directory(folder_ / "lists/folder");
  ASSERT_EQ(mkfifo((folder_ / "lists/pipe.png").c_str(), 0600), 0);
  const std::string path = write("file,class\na.png,x\nc.png,x\nb.png,y\nfolder,y\npipe.png,y\n");
  const DatasetSplits splits = open_dataset(path);
  EXPECT_EQ(splits.whole->size(), 2u);
  EXPECT_EQ(splits.report.samples, 2u);
  EXPECT_EQ(splits.report.left_out, 4u);
  EXPECT_EQ(splits.report.problems,
            (Texts{path + ": line 1: names \"file\", which is not there (a header would be "
                          "path,label)",
                   path + ": line 3: names \"c.png\", which is not there",
                   path + ": line 5: names \"folder\", which is no regular file",
                   path + ": line 6: names \"pipe.png\", which is no regular file"}));
}

TEST_F(CsvDataset, NothingLeftIsRefused) {
  image("lists/a.png", 1);
  image("lists/b.png", 2);
  const auto refused = [&](const std::string& text, std::initializer_list<std::string> words) {
    expect_error(ErrorCode::kInput, words, [&] { open_dataset(write(text)); });
  };
  refused("", {"list.csv: expected rows of a path and a label, found none"});
  refused("path,label\n,cat\n", {"found none", "line 2: the path is empty"});
  refused("x.png,cat\ny.png,dog\n", {"none of its images is there", "line 1", "x.png"});
  refused("a.png,cat,train\nb.png,dog,train\nx.png,dog,val\n",
          {"no image of its split val is there", "line 3", "x.png"});
  refused("a.png,cat\nb.png,cat\n", {"expected at least 2 classes, found 1 (cat)", "labels"});
  refused("a.png,cat\nx.png,dog\n", {"expected at least 2 classes, found 1 (cat)"});
}

TEST_F(CsvDataset, OnlyRegularFilesAreLists) {
  const std::string pipe = (folder_ / "pipe.csv").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_error(ErrorCode::kInput, {pipe, "expected a regular file, found a device or pipe"},
               [&] { open_dataset(pipe); });
  expect_error(ErrorCode::kInput, {"missing.csv: cannot be opened"},
               [&] { open_dataset((folder_ / "missing.csv").string()); });
  // A folder may have any name.
  image("folder.csv/a/1.png", 1);
  image("folder.csv/b/1.png", 2);
  EXPECT_EQ(open_dataset((folder_ / "folder.csv").string()).whole->size(), 2u);
  // Larger than any list may be, without a byte on the disk.
  const std::string large = (folder_ / "large.csv").string();
  write_file(large, "a");
  fs::resize_file(large, kMaxCsvBytes + 1);
  expect_error(ErrorCode::kInput, {large, "expected at most 268435456 bytes (a fixed limit)"},
               [&] { open_dataset(large); });
}

TEST_F(CsvDataset, BrokenImagesRaiseWhereTheyAreRead) {
  image("lists/a.png", 1);
  write_file(folder_ / "lists/b.png", "no image");
  const Dataset data = *open_dataset(write("a.png,x\nb.png,y\n")).whole;
  EXPECT_NO_THROW(data.decode(0));
  expect_error(ErrorCode::kInput, {"lists/b.png"}, [&] { data.decode(1); });
}

}  // namespace
}  // namespace vig::test
