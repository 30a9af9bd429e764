// What other writers put into the directory of a zip archive, and what no honest one does.
// tests/data/packed_test.cpp has archives as data sets.
#include "vig/base/zip.h"

#include <string>

#include "support/errors.h"
#include "support/zip_bytes.h"

namespace vig::test {
namespace {

using namespace std::string_literals;

std::vector<ZipEntry> read(const std::string& archive) {
  return read_zip_directory(
      {reinterpret_cast<const unsigned char*>(archive.data()), archive.size()}, "FILE");
}

std::string refusal(const std::string& archive) {
  return error_of([&] { read(archive); });
}

std::string text_of(const ZipEntry& entry) { return {entry.data.begin(), entry.data.end()}; }

size_t entry_of(const std::string& archive) { return archive.find("PK\1\2"); }
size_t end_of(const std::string& archive) { return archive.rfind("PK\5\6"); }

void put(std::string& bytes, size_t at, uint64_t value, int width) {
  bytes.replace(at, static_cast<size_t>(width), little_endian(value, width));
}

// The archive with `extra` and `comment` in the directory's first entry, whose name has one letter.
std::string with_fields(std::string archive, const std::string& extra, const std::string& comment) {
  constexpr size_t kEntry = 46, kExtraLength = 30, kCommentLength = 32, kDirectorySize = 12;
  const size_t entry = entry_of(archive);
  const size_t more = extra.size() + comment.size();
  const auto size = static_cast<unsigned char>(archive[end_of(archive) + kDirectorySize]);
  put(archive, end_of(archive) + kDirectorySize, size + more, 4);
  put(archive, entry + kExtraLength, extra.size(), 2);
  put(archive, entry + kCommentLength, comment.size(), 2);
  return archive.insert(entry + kEntry + 1, extra + comment);
}

const std::string kTime = "UT\5\0\1abcd"s;  // a field of Info-ZIP

TEST(ZipDirectory, EntriesMayHaveFieldsAndComments) {
  const std::string archive = zip_archive({{"a", "first"}, {"b", "second"}});
  for (const std::string& whole :
       {archive, with_fields(archive, kTime, ""), with_fields(archive, "", "a comment"),
        with_fields(archive, kTime + kTime, "a comment")}) {
    const auto entries = read(whole);
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].name, "a");
    EXPECT_EQ(text_of(entries[0]), "first");
    EXPECT_EQ(entries[1].name, "b");
    EXPECT_EQ(text_of(entries[1]), "second");
  }
}

TEST(ZipDirectory, ANameComesOnce) {
  const std::string sentence = "FILE: its zip directory names \"a\" twice";
  EXPECT_EQ(refusal(zip_archive({{"a", "1"}, {"a", "2"}})), sentence);
  EXPECT_EQ(refusal(zip_archive({{"a", "1"}, {"b", "2"}, {"a", "3"}})), sentence);
}

// The field of zip64 holds only what does not fit 32 bits, and other fields may stand before it.
TEST(ZipDirectory, Zip64HoldsWhatIsMarked) {
  constexpr size_t kPacked = 20, kSize = 24, kOffset = 42;
  const std::string plain = zip_archive({{"a", "first"}, {"b", "second"}});
  const auto mark = [&](std::initializer_list<size_t> offsets) {
    std::string archive = plain;
    for (const size_t offset : offsets) put(archive, entry_of(archive) + offset, 0xffffffff, 4);
    return archive;
  };
  const auto field = [](std::initializer_list<uint64_t> values) {
    std::string bytes = "\1\0"s + little_endian(values.size() * 8, 2);
    for (const uint64_t value : values) bytes += little_endian(value, 8);
    return bytes;
  };
  for (const std::string& before : {""s, kTime}) {
    for (const std::string& archive :
         {with_fields(mark({kOffset}), before + field({0}), ""),
          with_fields(mark({kPacked}), before + field({5}), ""),
          with_fields(mark({kSize, kOffset}), before + field({5, 0}), ""),
          with_fields(mark({kSize, kPacked, kOffset}), before + field({5, 5, 0}), "")}) {
      const auto entries = read(archive);
      ASSERT_EQ(entries.size(), 2u);
      EXPECT_EQ(text_of(entries[0]), "first");
      EXPECT_EQ(entries[0].size, 5u);
    }
  }
  // A value that is marked and not there.
  EXPECT_EQ(refusal(with_fields(mark({kSize, kOffset}), field({5}), "")),
            "FILE: broken zip archive: its directory is damaged");
}

TEST(ZipDirectory, SignaturesAreChecked) {
  const std::string archive = zip_archive({{"a", "first"}}, true);
  const auto changed = [&](size_t at) {
    std::string bytes = archive;
    ++bytes[at];
    return refusal(bytes);
  };
  EXPECT_EQ(changed(entry_of(archive)), "FILE: broken zip archive: its directory is damaged");
  EXPECT_EQ(changed(0), "FILE: broken zip archive: its directory points at something else");
  for (const char* record : {"PK\6\6", "PK\6\7"}) {
    EXPECT_EQ(changed(archive.find(record)),
              "FILE: broken zip archive: its zip64 record is missing");
  }
}

TEST(ZipDirectory, NothingLiesOutsideOfTheFile) {
  const std::string outside =
      "FILE: broken zip archive: it points outside the file, which may have been cut short";
  const std::string archive = zip_archive({{"a", "first"}});
  const auto changed = [&](size_t at, uint64_t value) {
    std::string bytes = archive;
    put(bytes, at, value, 4);
    return refusal(bytes);
  };
  EXPECT_EQ(changed(entry_of(archive) + 42, archive.size() - 29), outside);  // the local header
  EXPECT_EQ(changed(end_of(archive) + 16, archive.size()), outside);         // the directory
  // Of stored data both sizes grow.
  std::string longer = archive;
  for (const size_t offset : {20u, 24u}) put(longer, entry_of(longer) + offset, archive.size(), 4);
  EXPECT_EQ(refusal(longer), outside);
}

}  // namespace
}  // namespace vig::test
