#include "house/git_files.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/files.h"
#include "support/run_program.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

class GitFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(tree_ / ".gitignore", "/made/\n*.npy\n");
    write_file(tree_ / "docs/a page.md", "page");
    write_file(tree_ / "gone", "");
    const RunResult made =
        run_program({"sh", "-c", "git init -q . && git add -A && rm gone && mkdir -p made photos"},
                    {.directory = tree_.path()});
    if (made.exit_code != 0) GTEST_SKIP() << "needs git: " << made.err;
    write_file(tree_ / "made/x", "");
    write_file(tree_ / "photos/mine.jpg", "mine");
  }

  TempDir tree_;
};

TEST_F(GitFiles, TrackedFilesAreThoseOfTheProjectAlone) {
  std::vector<std::string> files = tracked_files(tree_.path());
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files, (std::vector<std::string>{".gitignore", "docs/a page.md"}));
}

TEST_F(GitFiles, CopiesAreFilesOfTheirOwn) {
  const TempDir copy;
  copy_tracked_files(tree_.path(), copy.path());
  EXPECT_FALSE(fs::exists(copy / "photos"));
  EXPECT_FALSE(fs::exists(copy / "made"));
  for (const auto& entry : fs::recursive_directory_iterator(copy.path())) {
    EXPECT_FALSE(entry.is_symlink()) << entry.path();
  }
  write_file(copy / "docs/a page.md", "changed");
  EXPECT_EQ(read_file(tree_ / "docs/a page.md"), "page");
}

TEST_F(GitFiles, UnignoredFilesWouldShowUpInGitStatus) {
  EXPECT_EQ(unignored_files(tree_.path(), {"made/y", "grid.npy", "left.txt", "photos/mine.jpg"}),
            (std::vector<std::string>{"left.txt", "photos/mine.jpg"}));
  EXPECT_TRUE(unignored_files(tree_.path(), {"made/y"}).empty());
}

TEST(GitFilesElsewhere, NothingIsTrackedOutsideARepository) {
  const TempDir folder;
  write_file(folder / "a", "");
  EXPECT_TRUE(tracked_files(folder.path()).empty());
}

}  // namespace
}  // namespace vig::test
