// Which images a command line means.
#include "vig/cli/find_images.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/files.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class FindImages : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"a.png", "b/2.JPG", "b/1.jpg", "b/notes.txt", "b/.hidden.jpg", "c.txt"}) {
      write_file(folder_ / name, "");
    }
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  TempDir folder_;
};

// What a pattern matches is taken as if it had been named, but a folder stands for its images.
TEST_F(FindImages, APatternMayMatchFolders) {
  const cli::FoundImages found = cli::find_images({path("*")});
  EXPECT_EQ(found.files, (Names{path("a.png"), path("b/1.jpg"), path("b/2.JPG"), path("c.txt")}));
  EXPECT_EQ(found.problems, Names());
  EXPECT_EQ(cli::find_images({path("?")}).files, (Names{path("b/1.jpg"), path("b/2.JPG")}));
  EXPECT_EQ(cli::find_images({path("c.txt"), path("b")}).files,
            (Names{path("c.txt"), path("b/1.jpg"), path("b/2.JPG")}));
}

// A bracket alone makes a pattern, unless there is a file of that very name.
TEST_F(FindImages, ABracketIsAPattern) {
  write_file(folder_ / "b/3.jpg", "");
  EXPECT_EQ(cli::find_images({path("[ac].png")}).files, Names{path("a.png")});
  EXPECT_EQ(cli::find_images({path("b/[12].[Jj][Pp][Gg]")}).files,
            (Names{path("b/1.jpg"), path("b/2.JPG")}));
  EXPECT_EQ(cli::find_images({path("b/[!12]*.jpg")}).files, Names{path("b/3.jpg")});
  EXPECT_EQ(cli::find_images({path("[ab]")}).files,
            (Names{path("b/1.jpg"), path("b/2.JPG"), path("b/3.jpg")}));
  expect_error(ErrorCode::kInput, {path("[xy].png") + ": found no images: nothing matches"},
               [&] { cli::find_images({path("[xy].png")}); });
  write_file(folder_ / "[ac].png", "");
  EXPECT_EQ(cli::find_images({path("[ac].png")}).files, Names{path("[ac].png")});
}

// A folder that cannot be listed is no reason to be silent about it.
TEST_F(FindImages, ProblemsOfFoldersAreReported) {
  fs::create_directories(folder_ / "links");
  for (int i = 0; i < 257; ++i) {
    fs::create_directory_symlink(folder_ / "b", folder_ / ("links/" + std::to_string(i)));
  }
  const cli::FoundImages found = cli::find_images({path("a.png"), path("links")});
  EXPECT_EQ(found.files, Names{path("a.png")});
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_NE(found.problems[0].find("links lead to this folder by more than 256 paths"),
            std::string::npos)
      << found.problems[0];
  expect_error(ErrorCode::kInput, {"more than 256 paths"},
               [&] { cli::find_images({path("links")}); });
  fs::create_directories(folder_ / "empty");
  expect_error(ErrorCode::kInput, {path("empty") + ": found no images there", ".heic"},
               [&] { cli::find_images({path("empty")}); });
}

}  // namespace
}  // namespace vig::test
