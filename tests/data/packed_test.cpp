// What is compressed: .tar.gz as a whole, .zip file by file.
#include <gtest/gtest.h>

#include "data/archive_bytes.h"
#include "data/opened.h"
#include "support/errors.h"
#include "support/zip_bytes.h"
#include "vig/base/random.h"

namespace vig::test {
namespace {

const Files kPackedFiles = {{"cat/1.jpg", std::string(3000, 'a')}, {"dog/2.jpg", "b"}};

std::string noise(size_t size) {
  std::string bytes(size, '\0');
  RandomStream stream(1);
  for (char& c : bytes) c = static_cast<char>(stream.bits());
  return bytes;
}

TEST(Gzip, SeveralMembersAndPadding) {
  const OpenBytes open;
  const std::string tar = tar_bytes(kPackedFiles);
  const std::string parts = gzip_bytes(tar.substr(0, 700)) + gzip_bytes(tar.substr(700));
  EXPECT_EQ(open(parts), kPackedFiles);
  EXPECT_EQ(open(parts + std::string(100, '\0')), kPackedFiles);
  expect_error(ErrorCode::kInput, {open.path(), "something else"}, [&] { open(parts + "x"); });
  EXPECT_FALSE(survives([&] { open(parts + "\x1f"); }));
  // Zeros end the file: what follows them was not written with it.
  expect_error(ErrorCode::kInput, {open.path(), "something else"},
               [&] { open(parts + std::string(100, '\0') + gzip_bytes("x")); });
}

TEST(Gzip, LargerThanTheFirstBuffer) {
  const OpenBytes open;
  const Files files = {{"noise", noise(5'000'000)}, {"zeros", std::string(9'000'000, '\0')}};
  EXPECT_EQ(open(gzip_bytes(tar_bytes(files))), files);
}

TEST(Gzip, CutOrDamagedRaises) {
  const OpenBytes open;
  const std::string good = gzip_bytes(tar_bytes({{"a", noise(3000)}}));
  for (size_t length = 2; length < good.size(); length += 97) {
    EXPECT_FALSE(survives([&] { open(good.substr(0, length)); })) << length;
  }
  EXPECT_FALSE(survives([&] { open(good.substr(0, good.size() - 1)); }));
  expect_error(ErrorCode::kInput, {"cut short", "at byte"},
               [&] { open(good.substr(0, good.size() / 2)); });
  // Content, checksum and size at the end are all checked.
  for (const size_t at : {good.size() / 2, good.size() - 8, good.size() - 1}) {
    std::string bad = good;
    bad[at] ^= 0x10;
    expect_error(ErrorCode::kInput, {open.path(), "damaged"}, [&] { open(bad); });
  }
}

TEST(Gzip, BombsStopAtTheLimit) {
  const OpenBytes open;
  const std::string tar = tar_bytes({{"a", std::string(20'000'000, '\0')}});
  const std::string bomb = gzip_bytes(tar);
  ASSERT_LT(bomb.size(), 50'000u);
  expect_error(ErrorCode::kInput, {"more than the 4000000 bytes"},
               [&] { open(bomb, {.max_unpacked_bytes = 4'000'000}); });
  EXPECT_FALSE(survives([&] { open(bomb, {.max_unpacked_bytes = tar.size() - 1}); }));
  EXPECT_FALSE(survives([&] { open(bomb, {.max_unpacked_bytes = 0}); }));
  EXPECT_EQ(open(bomb, {.max_unpacked_bytes = tar.size()}).size(), 1u);
}

ZipFile deflated(const std::string& name, const std::string& data) {
  return {.name = name,
          .data = deflate_bytes(data),
          .method = 8,
          .crc = crc_of(data),
          .unpacked_size = data.size()};
}

TEST(Zip, TheLastEntryEndsWithTheDirectory) {
  const OpenBytes open;
  std::string bytes = zip_archive({deflated("a", "1"), deflated("b", "2")});
  EXPECT_EQ(open.open(bytes)->files().size(), 2u);
  --bytes[bytes.rfind("PK\5\6") + 12];  // the size of the directory
  expect_error(ErrorCode::kInput, {open.path(), "its directory is damaged"},
               [&] { open.open(bytes); });
}

// Each of them is small enough, but not all together.
TEST(Zip, ManyBombsAreRefusedTogether) {
  const OpenBytes open;
  std::vector<ZipFile> files(13, deflated("", std::string(20'000'000, '\0')));
  for (size_t i = 0; i < files.size(); ++i) files[i].name = "cat/" + std::to_string(i);
  EXPECT_EQ(open.open(zip_archive(files))->files().size(), 13u);
  files.push_back(files[0]);
  files.back().name = "cat/13";
  const std::string bytes = zip_archive(files);
  ASSERT_LT(bytes.size(), 500'000u);
  expect_error(ErrorCode::kInput, {open.path(), "unpack to 280000000, expected at most 268435456"},
               [&] { open.open(bytes); });
  files.back().unpacked_size = uint64_t{1} << 40;  // a lie, which shows when it is read
  EXPECT_EQ(open.open(zip_archive(files))->files().size(), 14u);
  // As much data as that may unpack to more.
  files.back() = {.name = "cat/data", .data = std::string(20'000'000, 'x')};
  files.push_back(files[0]);
  files.back().name = "cat/14";
  EXPECT_EQ(open.open(zip_archive(files))->files().size(), 15u);
}

// It could be true of that much data, and is refused where it is read, not with the whole archive.
TEST(Zip, AFileThatClaimsMoreThanAGigabyteIsNoImage) {
  const OpenBytes open;
  const auto archive = open.open(zip_archive({{.name = "a",
                                               .data = noise(1'100'000),
                                               .method = 8,
                                               .unpacked_size = (uint64_t{1} << 30) + 1},
                                              deflated("b", "2")}));
  expect_error(ErrorCode::kInput, {archive->location(0), "claim to unpack to 1073741825"},
               [&] { archive->size(0); });
  EXPECT_EQ(read_text(*archive, 1), "2");
}

// Among good neighbours, one file is invalid, each time for another reason.
TEST(Zip, LiesRaiseWhereTheyAreRead) {
  const std::string data(3000, 'a');
  std::vector<ZipFile> lies;
  for (const uint64_t claim : {uint64_t{0}, uint64_t{2999}, uint64_t{3001}, uint64_t{1} << 20,
                               uint64_t{0xfffffffe}, uint64_t{1} << 40, ~uint64_t{0}}) {
    lies.push_back(deflated("lie", data));
    lies.back().unpacked_size = claim;
    lies.back().zip64 = true;
  }
  lies.push_back(deflated("lie", data));
  lies.back().crc ^= 1;
  lies.push_back({.name = "lie", .data = data, .crc = crc_of(data) ^ 1});
  lies.push_back(deflated("lie", data));
  lies.back().data.resize(lies.back().data.size() / 2);
  lies.push_back(deflated("lie", data));
  lies.back().data = "";
  lies.push_back(deflated("lie", data));
  lies.back().data[0] = '\x07';  // a kind of block that does not exist
  lies.push_back({.name = "lie", .data = data, .method = 14, .crc = crc_of(data)});
  lies.push_back(deflated("lie", std::string(20'000'000, '\0')));  // a bomb that says less
  lies.back().unpacked_size = 3000;

  const OpenBytes open;
  for (size_t i = 0; i < lies.size(); ++i) {
    const auto archive = open.open(zip_archive({deflated("a", "1"), lies[i], deflated("b", "2")}));
    EXPECT_EQ(read_text(*archive, 0), "1");
    expect_error(ErrorCode::kInput, {archive->location(1) + ": "}, [&] {
      read_text(*archive, 1);
      ADD_FAILURE() << "lie " << i << " was believed";
    });
    EXPECT_EQ(read_text(*archive, 2), "2");
  }
}

TEST(Zip, FoldersAndEncryption) {
  const OpenBytes open;
  const auto archive =
      open.open(zip_archive({{.name = "cat/", .data = ""}, deflated("dog/1", "x")}));
  EXPECT_EQ(archive->folders(), std::vector<std::string>{"cat"});
  EXPECT_EQ(archive->files(), std::vector<std::string>{"dog/1"});

  // Links that lead to no file may stand for folders.
  std::string endless = "cat/1";
  for (int i = 0; i < 10000; ++i) endless.insert(0, "./");
  const auto linked = open.open(zip_archive({deflated("cat/1", "x"),
                                             {.name = "dog", .data = "cat", .link = true},
                                             {.name = "fox", .data = "../fox/", .link = true},
                                             {.name = "gnu/2", .data = "../cat/1", .link = true},
                                             {.name = "hen", .data = "cat"},
                                             {.name = "jay", .data = endless, .link = true}}));
  EXPECT_EQ(linked->folders(), (std::vector<std::string>{"dog", "fox", "jay"}));
  EXPECT_EQ(linked->files().size(), 6u);

  std::string locked = zip_archive({deflated("dog/1", "x")});
  locked[locked.find("PK\1\2") + 8] |= 1;
  expect_error(ErrorCode::kInput, {"dog/1", "encrypted"}, [&] { open(locked); });
}

TEST(Zip, CountsThatLieAreRefused) {
  const std::vector<ZipFile> six = {{"a", ""}, {"b", ""}, {"c", ""},
                                    {"d", ""}, {"e", ""}, {"f", ""}};
  const OpenBytes open;
  for (const bool zip64 : {false, true}) {
    std::string bytes = zip_archive(six, zip64);
    EXPECT_EQ(open(bytes).size(), 6u);
    const size_t count = zip64 ? bytes.rfind("PK\6\6") + 32 : bytes.rfind("PK\5\6") + 10;
    for (const char lie : {'\0', '\4', '\5', '\7'}) {
      bytes[count] = lie;
      expect_error(ErrorCode::kInput, {open.path(), "as many entries as it says"},
                   [&] { open(bytes); });
    }
  }
  // Zip64 has room for the whole count.
  std::string bytes = zip_archive(six, true);
  bytes[bytes.rfind("PK\6\6") + 32 + 2] = 1;
  expect_error(ErrorCode::kInput, {"as many entries as it says"}, [&] { open(bytes); });
  // A directory that ends inside an entry.
  bytes = zip_archive(six);
  --bytes[bytes.rfind("PK\5\6") + 12];
  expect_error(ErrorCode::kInput, {open.path(), "damaged"}, [&] { open(bytes); });
}

TEST(Zip, FieldsEndWithTheirEntry) {
  const OpenBytes open;
  std::string zip = zip_archive({{.name = "a", .data = "x", .zip64 = true, .crc = crc_of("x")}});
  EXPECT_EQ(open(zip), (Files{{"a", "x"}}));
  const size_t field = zip.rfind(std::string("\1\0\x18\0", 4));  // the last one is the directory's
  ASSERT_NE(field, std::string::npos);
  ++zip[field + 2];  // a byte longer than the entry's extra fields
  expect_error(ErrorCode::kInput, {open.path(), "its directory is damaged"}, [&] { open(zip); });
}

// What writers without zip64 make of many files: the count keeps its lower 16 bits.
TEST(Zip, CountsMayWrap) {
  std::vector<ZipFile> files;
  for (const size_t count : {65535u, 65536u, 70000u}) {
    while (files.size() < count) files.push_back({std::to_string(files.size()), ""});
    const std::string bytes = zip_archive(files);
    const auto archive = open_zip("x.zip", in_memory(bytes));
    ASSERT_EQ(archive->files().size(), count);
    EXPECT_EQ(archive->files().back(), std::to_string(count - 1));
  }
}

TEST(Zip, CommentsBehindTheDirectory) {
  const OpenBytes open;
  const auto with_comment = [](const std::string& comment) {
    std::string zip = zip_archive({deflated("a", "1")});
    return zip.replace(zip.size() - 2, 2, little_endian(comment.size(), 2)) + comment;
  };
  for (const size_t size : {1u, 300u, 65535u}) {
    EXPECT_EQ(open(with_comment(std::string(size, 'c'))), (Files{{"a", "1"}})) << size;
  }
  // A comment may look like the end of an archive.
  EXPECT_EQ(open(with_comment("PK\5\6" + std::string(40, 'x'))), (Files{{"a", "1"}}));
  expect_error(ErrorCode::kInput, {open.path(), "no directory at its end"},
               [&] { open(with_comment("c") + "d"); });
}

TEST(Zip, RandomDamage) {
  const std::string good = zip_archive({deflated("a/1", noise(200)),
                                        {.name = "a/2", .data = "x", .crc = crc_of("x")},
                                        deflated("b/1", std::string(2000, 'y'))},
                                       true);
  RandomStream stream(3);
  int survived = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    bytes[stream.below(bytes.size())] = static_cast<char>(stream.bits());
    if (stream.chance(0.2)) bytes.resize(stream.below(bytes.size()));
    survived += survives([&] { read_all(*open_zip("x.zip", in_memory(bytes))); });
  }
  EXPECT_GT(survived, 0);
  EXPECT_LT(survived, 3000);
}

}  // namespace
}  // namespace vig::test
