#include "vig/base/folder_entries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "support/files.h"

namespace vig::test {
namespace {

TEST(FolderEntries, AreTheNamesInAFolder) {
  const TempDir folder;
  for (const char* name : {"a", ".hidden", "...", "b/c"}) write_file(folder / name, "");
  // What went wrong before does not count.
  std::error_code error = std::make_error_code(std::errc::io_error);
  errno = EIO;
  std::vector<std::string> names = folder_entries(folder.path().string(), error);
  EXPECT_FALSE(error) << error.message();
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"...", ".hidden", "a", "b"}));
}

TEST(FolderEntries, SayWhyThereAreNone) {
  const TempDir folder;
  write_file(folder / "file", "");
  std::error_code error;
  EXPECT_TRUE(folder_entries((folder / "absent").string(), error).empty());
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
  EXPECT_TRUE(folder_entries((folder / "file").string(), error).empty());
  EXPECT_EQ(error, std::errc::not_a_directory);
}

}  // namespace
}  // namespace vig::test
