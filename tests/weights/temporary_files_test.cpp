#include "vig/weights/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

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

TEST(TemporaryFiles, NewFilesReplaceNothing) {
  const TempDir folder;
  {
    AtomicFile file((folder / "x").string());
    file.write("first", 5);
    EXPECT_TRUE(file.commit_new());
  }
  {
    AtomicFile file((folder / "x").string());
    file.write("second", 6);
    EXPECT_FALSE(file.commit_new());
  }
  EXPECT_EQ(read_file(folder / "x"), "first");
  EXPECT_EQ(names_in(folder), std::set<std::string>{"x"});
  write_file(folder / "y", "y");
  EXPECT_EQ(rename_new((folder / "y").string(), (folder / "x").string()), EEXIST);
  EXPECT_EQ(rename_new((folder / "none").string(), (folder / "z").string()), ENOENT);
  EXPECT_EQ(rename_new((folder / "y").string(), (folder / "z").string()), 0);
  EXPECT_EQ(read_file(folder / "z"), "y");
  EXPECT_EQ(names_in(folder), (std::set<std::string>{"x", "z"}));
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

// More at once than the list for signals holds, and again when it is free.
TEST(TemporaryFiles, ManyAtOnce) {
  const TempDir folder;
  {
    std::vector<std::unique_ptr<AtomicFile>> files;
    for (int i = 0; i < 70; ++i) {
      files.push_back(std::make_unique<AtomicFile>((folder / std::to_string(i)).string()));
    }
    files.front()->commit_text("first");
    files.back()->commit_text("last");
  }
  EXPECT_EQ(names_in(folder), (std::set<std::string>{"0", "69"}));
  const AtomicFile a((folder / "a").string()), b((folder / "b").string());
  EXPECT_EQ(names_in(folder).size(), 4u);
  remove_temporary_files();
  EXPECT_EQ(names_in(folder), (std::set<std::string>{"0", "69"}));
}

TEST(TemporaryFiles, BytesWrittenAfterANewBeginningFollowTheOthers) {
  const TempDir folder;
  AtomicFile file((folder / "x").string());
  file.write("abcdef", 6);
  file.rewrite_begin("XY", 2);
  file.commit_text("gh");
  EXPECT_EQ(read_file(folder / "x"), "XYcdefgh");
}

TEST(TemporaryFiles, OthersMayReadTheFileAsFarAsTheUserSays) {
  const TempDir folder;
  const mode_t before = ::umask(0026);
  AtomicFile((folder / "x").string()).commit_text("text");
  ::umask(before);
  struct stat status = {};
  ASSERT_EQ(::stat((folder / "x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

// As the name of a process on another machine that writes into the same folder.
TEST(TemporaryFiles, ANameThatIsTakenIsPassedOver) {
  const TempDir folder;
  std::string mark;  // of the next temporary: PROCESS-
  int next = 0;
  {
    const AtomicFile file((folder / "x").string());
    const std::string name = *names_in(folder).begin();
    const size_t dash = name.rfind('-') + 1;
    mark = name.substr(0, dash);
    next = std::stoi(name.substr(dash)) + 1;
  }
  std::vector<int> locked;
  for (int i = 0; i < 3; ++i) {
    const fs::path taken = folder / (mark + std::to_string(next + i));
    write_file(taken, "another's");
    locked.push_back(::open(taken.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::flock(locked.back(), LOCK_EX | LOCK_NB), 0);
  }
  AtomicFile((folder / "x").string()).commit_text("ours");
  EXPECT_EQ(read_file(folder / "x"), "ours");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read_file(folder / (mark + std::to_string(next + i))), "another's");
    ::close(locked[static_cast<size_t>(i)]);
  }
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
