// cmake/relative_link.cmake, by which a build finds the default model.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

void make_link(const TempDir& folder, const fs::path& from, const fs::path& to) {
  write_file(folder / "link.cmake", "include(\"" + std::string(kSourceDir) +
                                        "/cmake/relative_link.cmake\")\n"
                                        "vig_relative_link(\"" +
                                        from.string() + "\" \"" + to.string() + "\" model)\n");
  const RunResult result = run_program({"cmake", "-P", (folder / "link.cmake").string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
}

TEST(RelativeLink, SurvivesMovingTheTree) {
  const TempDir folder;
  write_file(folder / "a tree/models/model", "weights");
  make_link(folder, folder / "a tree/models", folder / "a tree/build/share");
  make_link(folder, folder / "a tree/models",
            folder / "a tree/build/share");  // as cmake runs again
  fs::rename(folder / "a tree", folder / "moved");
  EXPECT_EQ(read_file(folder / "moved/build/share/model"), "weights");
}

// Both are links to folders of another depth.
TEST(RelativeLink, LeadsOutOfABuildOnAnotherDisk) {
  const TempDir folder, disk;
  write_file(folder / "deep/er/models/model", "weights");
  fs::create_directories(disk / "build");
  fs::create_directories(folder / "tree");
  fs::create_directory_symlink(folder / "deep/er/models", folder / "tree/models");
  fs::create_directory_symlink(disk / "build", folder / "tree/build");
  make_link(folder, folder / "tree/models", folder / "tree/build/share");
  ASSERT_TRUE(fs::is_symlink(disk / "build/share/model"));
  EXPECT_EQ(read_file(disk / "build/share/model"), "weights");
  EXPECT_EQ(read_file(folder / "tree/build/share/model"), "weights");
}

}  // namespace
}  // namespace vig::test
