// Data whose labels are kept otherwise: the message says what is supported.
#include <gtest/gtest.h>

#include "data/archive_bytes.h"
#include "support/errors.h"
#include "support/files.h"
#include "vig/data/dataset.h"

namespace vig::test {
namespace {

void expect_refusal(const Files& files, std::initializer_list<std::string> parts) {
  const TempDir folder;
  write_files(folder.path(), files);
  expect_error(ErrorCode::kInput, parts, [&] { open_dataset(folder.path().string()); });
}

TEST(ForeignLabels, CocoFolders) {
  const std::string layout = "expected CLASS/IMAGE or {train,val,test}/CLASS/IMAGE";
  const std::string refused =
      "COCO and other annotations in JSON (annotations/instances_val2017.json) are not supported";
  expect_refusal({{"annotations/instances_val2017.json", "{}"},
                  {"val2017/1.png", numbered_png(1)},
                  {"train2017/1.png", numbered_png(2)}},
                 {layout, refused});
  expect_refusal({{"annotations/instances_val2017.json", "{}"}, {"images/1.png", numbered_png(1)}},
                 {layout, refused});
}

TEST(ForeignLabels, TablesBesideImages) {
  expect_refusal(
      {{"labels.csv", "1.png,cat\n"}, {"1.png", numbered_png(1)}},
      {"lies in no class folder", "if labels.csv has rows of a path and a label, name it"});
  expect_refusal({{"labels.tsv", "1.png\tcat\n"}, {"1.png", numbered_png(1)}},
                 {"lies in no class folder", "labels in TSV files (labels.tsv) are not supported"});
  const TempDir archives;
  write_file(archives / "x.tar", tar_bytes({{"l.csv", "1.png,cat\n"}, {"1.png", numbered_png(1)}}));
  expect_error(ErrorCode::kInput, {"lists of labels (l.csv) are not read from archives"},
               [&] { open_dataset((archives / "x.tar").string()); });
  // Where the folders are classes, a table beside them is ignored.
  const TempDir folder;
  write_files(folder.path(),
              {{"labels.csv", "x"}, {"a/1.png", numbered_png(1)}, {"b/1.png", numbered_png(2)}});
  EXPECT_EQ(open_dataset(folder.path().string()).whole->size(), 2u);
}

TEST(ForeignLabels, AFileInsteadOfData) {
  const TempDir folder;
  for (const auto& [name, what] : {std::pair{"labels.tsv", "labels in TSV files are not supported"},
                                   {"instances.json", "annotations in JSON are not supported"},
                                   {"train.jsonl", "annotations in JSON are not supported"},
                                   {"voc.xml", "annotations in XML are not supported"},
                                   {"a.parquet", "labels in Parquet files are not supported"},
                                   {"notes.md", "another kind of file"}}) {
    write_file(folder / name, "something else");
    const std::string path = (folder / name).string();
    expect_error(ErrorCode::kInput, {path, "a .zip with a folder for each class", what},
                 [&] { open_dataset(path); });
  }
}

}  // namespace
}  // namespace vig::test
