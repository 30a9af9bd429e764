#include "vig/weights/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <set>

#include "support/files.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

std::set<std::string> names_in(const TempDir& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

TEST(TemporaryFiles, AppearsWholeOrNotAtAll) {
  const TempDir folder;
  write_file(folder / "x", "old");
  {
    AtomicFile file((folder / "x").string());
    file.write("new", 3);
    EXPECT_EQ(read_file(folder / "x"), "old");
    EXPECT_EQ(names_in(folder).size(), 2u);
  }
  EXPECT_EQ(read_file(folder / "x"), "old");
  AtomicFile((folder / "x").string()).commit_text("new");
  EXPECT_EQ(read_file(folder / "x"), "new");
  EXPECT_EQ(names_in(folder), std::set<std::string>{"x"});
}

TEST(TemporaryFiles, StoppedWorkHasANameOfItsOwn) {
  const TempDir folder;
  write_file(folder / "x", "old");
  AtomicFile file((folder / "x").string());
  file.write("half", 4);
  file.commit_partial();
  EXPECT_EQ(read_file(folder / "x"), "old");
  EXPECT_EQ(read_file(folder / "x.partial"), "half");
  EXPECT_EQ(names_in(folder), (std::set<std::string>{"x", "x.partial"}));
}

TEST(TemporaryFiles, SignalsRemoveWhatIsOpen) {
  const TempDir folder;
  auto a = std::make_unique<AtomicFile>((folder / "a").string());
  AtomicFile b((folder / "b").string());
  b.write("b", 1);
  a.reset();
  AtomicFile((folder / "c").string()).commit_text("c");
  EXPECT_EQ(names_in(folder).size(), 2u);
  remove_temporary_files();
  EXPECT_EQ(names_in(folder), std::set<std::string>{"c"});
}

TEST(TemporaryFiles, AForkedProcessRemovesNothingOfItsParent) {
  const TempDir folder;
  AtomicFile file((folder / "x").string());
  const pid_t child = fork();
  if (child == 0) {
    remove_temporary_files();
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  file.commit_text("whole");
  EXPECT_EQ(read_file(folder / "x"), "whole");
}

// Recognised by name and by the lock that its process no longer holds.
TEST(TemporaryFiles, LeftoversOfKilledProcessesAreRemoved) {
  const TempDir folder;
  const std::set<std::string> others = {"x.tmp-1",    "x.tmp-1-2-3", "x.tmp-a-1", "x.tmp--1",
                                        "yx.tmp-1-1", "x.tmp-1-1.b", "y.tmp-1-1", "x.partial"};
  for (const std::string& name : others) write_file(folder / name, "not ours");
  write_file(folder / "x.tmp-1-7", "left");
  write_file(folder / "x.tmp-4242424-0", "left");
  fs::create_directory(folder / "x.tmp-3-3");
  fs::create_symlink(folder / "y.tmp-1-1", folder / "x.tmp-4-4");
  AtomicFile((folder / "x").string()).commit_text("new");
  std::set<std::string> expected = others;
  expected.insert({"x", "x.tmp-3-3", "x.tmp-4-4"});
  EXPECT_EQ(names_in(folder), expected);
}

TEST(TemporaryFiles, TheTemporaryOfALivingProcessStays) {
  const TempDir folder;
  AtomicFile first((folder / "x").string());
  first.write("first", 5);
  AtomicFile((folder / "x").string()).commit_text("second");
  EXPECT_EQ(read_file(folder / "x"), "second");
  first.commit();
  EXPECT_EQ(read_file(folder / "x"), "first");
}

}  // namespace
}  // namespace vig::test
