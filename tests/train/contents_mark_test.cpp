// Hosts that have other files under the same names.
#include "vig/train/contents_mark.h"

#include <gtest/gtest.h>

#include "support/files.h"
#include "vig/data/image_files.h"

namespace vig::test {
namespace {

class ContentsMark : public ::testing::Test {
 protected:
  ContentsMark() {
    for (int i = 0; i < 10; ++i) write_file(folder_ / name(i), std::string(100, 'a'));
    write_file(folder_ / "data.tar", std::string(300'000, 'b'));
  }
  static std::string name(int i) { return std::to_string(i) + ".png"; }
  std::string mark_of(const std::vector<std::string>& names) const {
    std::vector<std::string> files;
    for (const std::string& name : names) files.push_back((folder_ / name).string());
    return train::contents_mark(ImageFiles(files));
  }
  std::string files_mark() const {
    std::vector<std::string> names;
    for (int i = 0; i < 10; ++i) names.push_back(name(i));
    return mark_of(names);
  }
  TempDir folder_;
};

TEST_F(ContentsMark, SizesAndBytesOfFiles) {
  const std::string before = files_mark();
  EXPECT_EQ(files_mark(), before);
  write_file(folder_ / name(7), std::string(99, 'a') + "b");
  const std::string bytes = files_mark();
  EXPECT_NE(bytes, before);
  write_file(folder_ / name(7), std::string(101, 'a'));
  EXPECT_NE(files_mark(), before);
  std::filesystem::remove(folder_ / name(7));
  EXPECT_NE(files_mark(), before);
  write_file(folder_ / name(7), std::string(100, 'a'));
  EXPECT_EQ(files_mark(), before) << "times and inodes do not matter";
}

TEST_F(ContentsMark, AlsoOfArchives) {
  const std::vector<std::string> samples = {"data.tar/cat/1.png", "data.tar/cat/2.png"};
  const std::string before = mark_of(samples);
  write_file(folder_ / "data.tar", std::string(300'001, 'b'));
  EXPECT_NE(mark_of(samples), before);
  write_file(folder_ / "data.tar", std::string(300'000, 'c'));
  EXPECT_NE(mark_of(samples), before);
  EXPECT_EQ(mark_of({}).size(), 16u);
}

}  // namespace
}  // namespace vig::test
