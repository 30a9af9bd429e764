#include "vig/base/inside_folder.h"

#include <gtest/gtest.h>

#include "support/files.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

TEST(LiesInside, LinksAndDotsAreFollowed) {
  const TempDir folder;
  const fs::path root = fs::canonical(folder.path()) / "a";
  write_file(root / "b/c", "x");
  write_file(folder / "ab/c", "x");
  fs::create_symlink("../../ab/c", root / "b/out");
  fs::create_symlink("c", root / "b/in");
  fs::create_directory_symlink("..", root / "up");
  fs::create_symlink("nothing", root / "dangling");
  for (const char* name : {"b/c", "b/in", "b", "b/../b/c", "up/a/b/c", "../a/b/c"}) {
    EXPECT_TRUE(lies_inside(root / name, root)) << name;
  }
  for (const char* name : {"b/out", "up/ab/c", "../ab/c", "..", "dangling", "none", "/"}) {
    EXPECT_FALSE(lies_inside(root / name, root)) << name;
  }
  EXPECT_FALSE(lies_inside(root / "b/c", ""));
}

}  // namespace
}  // namespace vig::test
