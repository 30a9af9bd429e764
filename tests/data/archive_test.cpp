// What folders and all kinds of archives have in common, and folders.
#include "vig/data/archive.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "data/archive_bytes.h"
#include "data/opened.h"
#include "support/errors.h"
#include "support/files.h"
#include "vig/data/folder_listing.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

const Files kFiles = {
    {"cat/1.jpg", std::string(1000, 'a')},
    {"cat/2.jpg", std::string(512, 'b')},
    {"dog/deep/er/3.png", "c"},
    {"dog/empty.png", ""},
    {"dog/m\xc3\xb6ps blau.jpg", "d\0e"},
    {"readme.txt", std::string(5000, 'f')},
};

// A byte longer than the bound; it takes no room on the disk.
TEST(Archive, AFileLongerThanAnyImageIsNotRead) {
  const TempDir dir;
  write_file(dir / "x.jpg", "");
  fs::resize_file(dir / "x.jpg", (uint64_t{1} << 30) + 1);
  const auto archive = open_archive(dir.path().string());
  std::vector<uint8_t> scratch;
  expect_error(ErrorCode::kInput, {"x.jpg", "an image of at most 1073741824"},
               [&] { archive->read(0, scratch); });
}

TEST(Archive, EveryKindHoldsTheSameFiles) {
  const TempDir dir;
  write_files(dir.path(), kFiles);
  const auto folder = open_archive(dir.path().string());
  EXPECT_EQ(read_all(*folder), kFiles);
  EXPECT_TRUE(std::is_sorted(folder->files().begin(), folder->files().end()));

  const OpenBytes open;
  EXPECT_EQ(open(tar_bytes(kFiles)), kFiles);
  EXPECT_EQ(open(gzip_bytes(tar_bytes(kFiles))), kFiles);
  EXPECT_EQ(open(zip_bytes(kFiles, ZipKind::kStored)), kFiles);
  EXPECT_EQ(open(zip_bytes(kFiles, ZipKind::kDeflated)), kFiles);
  EXPECT_EQ(open(zip_bytes(kFiles, ZipKind::kZip64)), kFiles);
  EXPECT_EQ(open(tar_end()), Files());
  EXPECT_EQ(open(zip_bytes({}, ZipKind::kStored)), Files());
}

TEST(Archive, NamesOnlyName) {
  const Files odd = {{"./cat//./1.jpg", "a"}, {"/etc/passwd", "b"}, {"../../up.jpg", "c"}};
  const Files clean = {{"cat/1.jpg", "a"}, {"etc/passwd", "b"}, {"../../up.jpg", "c"}};
  const OpenBytes open;
  EXPECT_EQ(open(tar_bytes(odd)), clean);
  EXPECT_EQ(open(zip_bytes(odd, ZipKind::kDeflated)), clean);
}

TEST(Archive, LocationsAreFitForMessages) {
  const OpenBytes open;
  const auto archive = open.open(tar_bytes({{"cat/\x1b[31m1.jpg", "a"}}));
  EXPECT_EQ(archive->location(0), open.path() + "/cat/\\x1b[31m1.jpg");
}

TEST(Archive, PathsMayEndInASlash) {
  const TempDir dir;
  write_file(dir / "cat/1.jpg", "a");
  const auto archive = open_archive(dir.path().string() + "/");
  EXPECT_EQ(archive->file_path(0), (dir / "cat/1.jpg").string());
  EXPECT_EQ(archive->location(0), (dir / "cat/1.jpg").string());
}

// Decoders ask for that much memory before they read.
TEST(Archive, SizesSayWhatReadingCopies) {
  const Files one = {{"a", std::string(1000, 'a')}};
  const TempDir dir;
  write_files(dir.path(), one);
  const OpenBytes open;
  const auto expect = [](const Archive& archive, uint64_t copied, size_t started) {
    EXPECT_EQ(archive.size(0).bytes, 1000u);
    EXPECT_EQ(archive.size(0).copied, copied);
    std::vector<uint8_t> start(7);
    EXPECT_EQ(archive.read_start(0, start), started);
    EXPECT_EQ(std::string(start.begin(), start.end()),
              std::string(started, 'a') + std::string(7 - started, '\0'));
  };
  expect(*open_archive(dir.path().string()), 1000, 0);
  expect(*open.open(tar_bytes(one)), 0, 0);  // read in place
  expect(*open.open(zip_bytes(one, ZipKind::kStored)), 0, 0);
  // A byte more shows content that is longer than it claims.
  expect(*open.open(zip_bytes(one, ZipKind::kDeflated)), 1001, 7);
}

TEST(Archive, OtherFilesAreRefused) {
  const OpenBytes open;
  for (const std::string& bytes :
       {std::string(), std::string("hello"), std::string(10000, 'x'), std::string("\x1f\x8b"),
        gzip_bytes(std::string(10000, 'x')), gzip_bytes(""), std::string("PK\3\4")}) {
    const std::string error = error_of([&] { open(bytes); });
    EXPECT_TRUE(error.starts_with(open.path() + ": ")) << error;
  }
  expect_error(ErrorCode::kInput, {"nowhere"}, [] { open_archive("nowhere"); });
}

TEST(Archive, ManyThreadsRead) {
  const OpenBytes open;
  Files files;
  for (int i = 0; i < 50; ++i) {
    files["f" + std::to_string(i)] = std::string(static_cast<size_t>(i) * 997, char('a' + i % 26));
  }
  const auto archive = open.open(zip_bytes(files, ZipKind::kDeflated));
  std::vector<Files> results(4);
  {
    std::vector<std::jthread> threads;
    for (Files& result : results) threads.emplace_back([&] { result = read_all(*archive); });
  }
  for (const Files& result : results) EXPECT_EQ(result, files);
}

TEST(FolderArchive, LinksAreFollowedButNotInCircles) {
  const TempDir dir, elsewhere;
  write_files(dir.path(), {{"cat/1.jpg", "a"}, {"dog/2.jpg", "b"}});
  write_files(elsewhere.path(), {{"3.jpg", "c"}});
  fs::create_directory_symlink(elsewhere.path(), dir / "fox");
  fs::create_directory_symlink(dir / "cat", dir / "dog/friend");
  fs::create_directory_symlink(dir.path(), dir / "cat/up");
  fs::create_directory_symlink(".", dir / "dog/self");
  fs::create_symlink(dir / "cat/1.jpg", dir / "dog/4.jpg");
  // From dog, friend leads to cat and from there up to the top, which is being listed.
  const Files expected = {{"cat/1.jpg", "a"},
                          {"dog/2.jpg", "b"},
                          {"dog/4.jpg", "a"},
                          {"dog/friend/1.jpg", "a"},
                          {"fox/3.jpg", "c"}};
  const auto archive = open_archive(dir.path().string());
  EXPECT_EQ(read_all(*archive), expected);
  // What leads back is no folder of its own.
  EXPECT_EQ(archive->folders(), (std::vector<std::string>{"cat", "dog", "dog/friend", "fox"}));
}

TEST(FolderArchive, HiddenFoldersAreLeftAlone) {
  const TempDir dir;
  write_files(dir / ".cache", {{"cat/1.jpg", "a"}, {"cat/.git/2.jpg", "b"}, {".trash/3.jpg", "c"}});
  fs::permissions(dir / ".cache/.trash", fs::perms::none);  // not even tried
  write_file(dir / ".cache/cat/.4.jpg", "d");
  const auto archive = open_archive((dir / ".cache").string());
  EXPECT_EQ(read_all(*archive), (Files{{"cat/1.jpg", "a"}, {"cat/.4.jpg", "d"}}));
  EXPECT_EQ(archive->folders(), std::vector<std::string>{"cat"});
  fs::permissions(dir / ".cache/.trash", fs::perms::owner_all);
}

TEST(FolderArchive, WhatCannotBeReadIsListedAndRaises) {
  const TempDir dir;
  fs::create_symlink(dir / "nothing", dir / "1.jpg");
  ASSERT_EQ(mkfifo((dir / "2.jpg").c_str(), 0600), 0);
  write_file(dir / "3.jpg", "a");
  const auto archive = open_archive(dir.path().string());
  ASSERT_EQ(archive->files(), (std::vector<std::string>{"1.jpg", "2.jpg", "3.jpg"}));
  fs::remove(dir / "3.jpg");
  for (size_t i = 0; i < 3; ++i) {
    const std::string error = error_of([&] { read_text(*archive, i); });
    EXPECT_NE(error.find(archive->files()[i]), std::string::npos) << error;
  }
}

TEST(FolderListing, AFolderThatIsNotThereIsAProblem) {
  const TempDir dir;
  const FolderListing listing = list_folder(dir / "gone");
  EXPECT_TRUE(listing.files.empty());
  ASSERT_EQ(listing.problems.size(), 1u);
  EXPECT_TRUE(
      listing.problems[0].starts_with((dir / "gone").string() + ": the folder cannot be listed: "))
      << listing.problems[0];
}

// Names of a folder of data in the order of the listing.
class KeptListing : public testing::Test {
 protected:
  void SetUp() override {
    write_file(data() / "cat/1.png", "a");
    write_file(data() / "dog/2.png", "b");
    age();
  }
  fs::path data() const { return dir_ / "data"; }
  std::string index() const { return (dir_ / "files.index").string(); }
  // Sets the times of all folders to that of long ago, as if nothing had happened.
  void age() const {
    for (const char* folder : {"", "cat", "dog"}) {
      fs::last_write_time(data() / folder,
                          fs::file_time_type::clock::now() - std::chrono::hours(1));
      times_.try_emplace(folder, fs::last_write_time(data() / folder));
      fs::last_write_time(data() / folder, times_[folder]);
    }
  }
  std::vector<std::string> names() const { return open_folder(data().string(), index())->files(); }

  const TempDir dir_;
  mutable std::map<std::string, fs::file_time_type> times_;
  const std::vector<std::string> two_ = {"cat/1.png", "dog/2.png"};
};

TEST_F(KeptListing, HoldsUntilAFolderChanges) {
  keep_listing(*open_folder(data().string()), index());
  EXPECT_EQ(names(), two_);
  write_file(data() / "cat/0.png", "c");
  age();
  EXPECT_EQ(names(), two_) << "no folder has changed, as far as its time says";
  fs::last_write_time(data() / "cat", fs::file_time_type::clock::now());
  EXPECT_EQ(names(), (std::vector<std::string>{"cat/0.png", "cat/1.png", "dog/2.png"}));
  // Another folder with this index is another folder.
  fs::rename(data(), dir_ / "other");
  write_file(data() / "cat/9.png", "d");
  EXPECT_EQ(names(), std::vector<std::string>{"cat/9.png"});
}

// Two changes within the tick of a clock leave one time.
TEST_F(KeptListing, FoldersOfThisMomentAreListedAgain) {
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(data() / "cat", now);
  const auto archive = open_folder(data().string());
  keep_listing(*archive, index());
  write_file(data() / "cat/0.png", "c");
  fs::last_write_time(data() / "cat", now);
  EXPECT_EQ(names().size(), 3u);
}

TEST_F(KeptListing, IsNotTrusted) {
  keep_listing(*open_folder(data().string()), index());
  const std::string good = read_file(index());
  for (size_t at = 0; at < good.size(); at += 5) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    write_file(index(), damaged);
    ASSERT_EQ(names(), two_) << at;
  }
  write_file(index(), good.substr(0, good.size() - 9));
  EXPECT_EQ(names(), two_);
  FolderListing listing = list_folder(data());
  for (const char* name : {"../x.png", "/x.png", "a/../../x.png", "a/..", ""}) {
    listing.files[0] = name;
    write_listing(listing, data(), index());
    EXPECT_FALSE(read_listing(data(), index())) << name;
  }
}

TEST(FolderArchive, IsListedOnceWhileItIsOpen) {
  const TempDir dir;
  write_file(dir / "cat/1.png", "a");
  for (const char* folder : {"", "cat"}) {
    fs::last_write_time(dir / folder, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  const auto first = open_archive(dir.path().string());
  EXPECT_EQ(open_archive(dir.path().string()), first);
  write_file(dir / "cat/2.png", "b");
  EXPECT_EQ(open_archive(dir.path().string())->files().size(), 2u);
  EXPECT_EQ(first->files().size(), 1u);
}

TEST(FolderArchive, EmptyFoldersShow) {
  const TempDir dir;
  fs::create_directories(dir / "cat/old");
  fs::create_directories(dir / "dog");
  const auto archive = open_archive(dir.path().string());
  EXPECT_TRUE(archive->files().empty());
  EXPECT_EQ(archive->folders(), (std::vector<std::string>{"cat", "cat/old", "dog"}));
}

}  // namespace
}  // namespace vig::test
