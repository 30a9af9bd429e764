#include "vig/base/mapped_file.h"

#include <gtest/gtest.h>

#include <string>

#include "support/files.h"

namespace vig::test {
namespace {

bool is_mapped(const std::string& path) {
  return read_file("/proc/self/maps").find(path) != std::string::npos;
}

TEST(MappedFile, StaysMappedWhileReferenced) {
  const TempDir folder;
  const std::string path = folder / "x";
  write_file(path, "some bytes");
  auto file = MappedFile::open(path);
  EXPECT_EQ(file->path(), path);
  EXPECT_EQ(std::string(file->bytes().begin(), file->bytes().end()), "some bytes");
  auto other = file;
  file.reset();
  EXPECT_TRUE(is_mapped(path));
  other.reset();
  EXPECT_FALSE(is_mapped(path));
}

TEST(MappedFile, MayBeEmpty) {
  const TempDir folder;
  write_file(folder / "x", "");
  EXPECT_TRUE(MappedFile::open(folder / "x")->bytes().empty());
}

}  // namespace
}  // namespace vig::test
