// Archives and folders that cost far more than they weigh.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>

#include "data/archive_bytes.h"
#include "data/opened.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/zip_bytes.h"
#include "vig/base/memory_budget.h"
#include "vig/base/random.h"
#include "vig/data/dataset.h"
#include "vig/data/folder_listing.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

// Far above what they take on a busy machine, and far below what they took before.
constexpr double kPlenty = 20;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(HostileArchive, NamesOfManyFolders) {
  const TempDir dir;
  const std::string path = dir / "deep.zip";
  const std::string deep = repeat("d/", 30'000);
  std::vector<ZipFile> files;
  for (int i = 0; i < 40; ++i) {
    files.push_back({deep + (i % 2 ? "cat/" : "dog/") + std::to_string(i) + ".jpg", "x"});
  }
  write_file(path, zip_archive(files));
  std::vector<std::string> classes;
  EXPECT_LT(seconds_of([&] { classes = open_dataset(path).classes(); }), kPlenty);
  EXPECT_EQ(classes, (std::vector<std::string>{"cat", "dog"}));
}

TEST(HostileArchive, NamesOfTarAreAsLongAsPathsMayBe) {
  const OpenBytes open;
  const auto tar = [](size_t length) {
    const std::string name(length, 'n');
    return tar_entry({.name = "././@LongLink", .type = 'L'}, name) +
           tar_entry({.name = "n"}, "content") + tar_end();
  };
  EXPECT_EQ(open(tar(4096)).size(), 1u);
  expect_error(ErrorCode::kInput, {open.path(), "a name of more than 4096 bytes (a fixed limit)"},
               [&] { open(tar(4097)); });
  const auto link = [](size_t length) {
    return tar_entry({.name = "././@LongLink", .type = 'K'}, std::string(length, 't')) +
           tar_header({.name = "n", .type = '2'}) + tar_end();
  };
  EXPECT_EQ(open.open(link(4096))->files().size(), 1u);
  expect_error(ErrorCode::kInput, {open.path(), "a name of more than 4096 bytes (a fixed limit)"},
               [&] { open.open(link(4097)); });
}

// What says more about the next entry, or about all, has a megabyte at most.
TEST(HostileArchive, HeadersOfTarAreNotEndless) {
  const OpenBytes open;
  for (const char type : {'x', 'g'}) {
    const auto tar = [&](size_t bytes) {
      const std::string records = pax_record("comment", std::string(bytes - 17, 'c'));
      EXPECT_EQ(records.size(), bytes);
      return tar_entry({.name = "more", .type = type}, records) +
             tar_entry({.name = "n"}, "content") + tar_end();
    };
    EXPECT_EQ(open(tar(1 << 20)).size(), 1u) << type;
    expect_error(ErrorCode::kInput,
                 {open.path(), "a header of more than 1048576 bytes (a fixed limit)"},
                 [&] { open(tar((1 << 20) + 1)); });
  }
}

// Different names of 20 bytes that std::hash<std::string> of libstdc++ (MurmurHash64A) takes for
// the same: its operations can be undone, so the second eight bytes cancel what the first did.
std::vector<std::string> names_of_one_hash(size_t count) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995, kSeed = 0xc70f6907, kState = 0x123456789abcdef;
  uint64_t inverse = kFactor;  // modulo 2^64, by Newton's iteration
  for (int i = 0; i < 6; ++i) inverse *= 2 - kFactor * inverse;
  const auto mix = [](uint64_t value) { return value ^ value >> 47; };
  std::vector<std::string> names;
  for (uint64_t i = 0; names.size() < count; ++i) {
    std::string name = fmt::format("a/{:06x}", i);
    uint64_t first;
    std::memcpy(&first, name.data(), 8);
    const uint64_t before = kSeed ^ 20 * kFactor;
    const uint64_t after = (before ^ mix(first * kFactor) * kFactor) * kFactor;
    const uint64_t second = mix((kState * inverse ^ after) * inverse) * inverse;
    name.append(reinterpret_cast<const char*>(&second), 8);
    const bool plain = name.find_first_of(std::string_view("/.\0", 3), 2) == std::string::npos;
    if (plain) names.push_back(name + ".jpg");
  }
  return names;
}

TEST(HostileArchive, NamesOfOneHash) {
  const std::vector<std::string> names = names_of_one_hash(150'000);
  std::string tar;
  std::vector<ZipFile> files;
  for (const std::string& name : names) {
    tar += tar_header({.name = name});
    files.push_back({.name = name, .data = ""});
  }
  tar += tar_end();
  files[0].link = true;
  const OpenBytes open;
  const auto sorted = [](const Archive& archive) {
    std::vector<std::string> all = archive.files();
    std::ranges::sort(all);
    return all;
  };
  for (const std::string& bytes : {tar, zip_archive(files, true)}) {
    std::shared_ptr<const Archive> archive;
    EXPECT_LT(seconds_of([&] { archive = open.open(bytes); }), kPlenty);
    EXPECT_EQ(sorted(*archive), names);  // made in order
  }
}

TEST(HostileArchive, GzipUnpacksToTwentyTimesItsSizeOr256MegabytesAtMost) {
  const OpenBytes open;
  const std::string zeros = gzip_bytes(std::string(32 << 20, '\0'));
  expect_error(ErrorCode::kInput, {open.path(), "more than the 268435456 bytes", "unpack it"},
               [&] { open(repeat(zeros, 9)); });
  EXPECT_TRUE(open(zeros).empty());  // an archive's end, many times
}

// What a small file became is memory that decoders do not have.
TEST(HostileArchive, UnpackedBytesCountAgainstTheDecoders) {
  const TempDir dir;
  const auto limit_with = [&](const std::string& tar) {
    write_file(dir / "x.tar.gz", gzip_bytes(tar));
    const auto archive = open_archive((dir / "x.tar.gz").string());
    return image_memory().limit();
  };
  image_memory().raise_capacity(uint64_t{1} << 30);
  const uint64_t before = image_memory().limit();
  EXPECT_LT(limit_with(tar_bytes({{"a", std::string(8 << 20, '\0')}})), before - (7 << 20));
  EXPECT_EQ(image_memory().limit(), before);
  // Names count as well, with 128 bytes beside their letters: a data set holds them, too.
  std::string names;
  for (int i = 0; i < 1000; ++i) {
    names += tar_header({.name = fmt::format("{:050}", i)}) +
             tar_header({.name = fmt::format("{:049}/", i), .type = '5'});
  }
  names += tar_end();
  const uint64_t counted = before - limit_with(names);
  EXPECT_GE(counted + 4 * gzip_bytes(names).size(), names.size() + 1000 * (50 + 128 + 49 + 128));
  // Images hardly shrink.
  std::string noise(100'000, '\0');
  RandomStream stream(1);
  for (char& c : noise) c = static_cast<char>(stream.bits());
  EXPECT_EQ(limit_with(tar_bytes({{"a", noise}})), before);
}

TEST(HostileArchive, EntriesOfAZipDoNotOverlap) {
  const OpenBytes open;
  const std::string large(10'000, 'x');
  std::string zip = zip_archive({{.name = "a", .data = large, .crc = crc_of(large)},
                                 {.name = "b", .data = "y", .crc = crc_of("y")}});
  EXPECT_TRUE(survives([&] { open(zip); }));
  // The second entry of the directory gets all fields of the first from its checksum to the sizes,
  // and its location.
  const size_t first = zip.find("PK\1\2"), second = zip.find("PK\1\2", first + 1);
  zip.replace(second + 16, 12, zip.substr(first + 16, 12));
  zip.replace(second + 42, 4, zip.substr(first + 42, 4));
  expect_error(ErrorCode::kInput, {open.path(), "its entries overlap"}, [&] { open(zip); });
}

// The checksum is wrong, too, but to know that all would have to be unpacked.
TEST(HostileArchive, CompressedFilesShowWhatTheyAreBeforeTheyAreUnpacked) {
  const TempDir dir;
  const std::string path = dir / "zeros.zip";
  const std::string zeros(8 << 20, '\0');
  const ZipFile file = {.name = "cat/1.jpg",
                        .data = deflate_bytes(zeros),
                        .method = 8,
                        .crc = 1,
                        .unpacked_size = zeros.size()};
  ZipFile other = file;
  other.name = "dog/1.jpg";
  write_file(path, zip_archive({file, other}));
  const Dataset data = *open_dataset(path).whole;
  expect_error(ErrorCode::kInput, {"cat/1.jpg", "it starts with the bytes 00 00 00 00"},
               [&] { data.decode(0); });
}

TEST(HostileArchive, ImagesTakeMemoryFromTheBudgetUntilTheyAreDropped) {
  const TempDir dir;
  write_files(dir.path(), {{"cat/1.png", numbered_png(1)}, {"dog/1.png", numbered_png(2)}});
  {
    const Dataset data = *open_dataset(dir.path().string(), {.cache_bytes = 0}).whole;
    const auto image = data.decode(0);
    EXPECT_EQ(image_memory().used(), image->rgb.size());
  }
  EXPECT_EQ(image_memory().used(), 0u);
  const Dataset kept = *open_dataset(dir.path().string(), {.cache_bytes = 1 << 20}).whole;
  const auto image = kept.decode(0);
  EXPECT_EQ(image_memory().used(), 0u);  // the cache has a limit of its own
}

TEST(HostileFolder, FoldersThatLinkToEachOther) {
  const TempDir dir;
  constexpr int kFolders = 10;
  for (int i = 0; i < kFolders; ++i) {
    const fs::path folder = dir / std::to_string(i);
    write_file(folder / "x.jpg", "x");
    for (int j = 0; j < kFolders; ++j) {
      if (j != i) fs::create_directory_symlink(dir / std::to_string(j), folder / std::to_string(j));
    }
  }
  write_file(dir / "z.jpg", "behind the folders");
  FolderListing listing;
  EXPECT_LT(seconds_of([&] { listing = list_folder(dir.path()); }), kPlenty);
  EXPECT_TRUE(listing.files.empty());
  ASSERT_EQ(listing.problems.size(), 1u);
  EXPECT_NE(
      listing.problems[0].find("links lead to this folder by more than 256 paths (a fixed limit)"),
      std::string::npos)
      << listing.problems[0];
  expect_error(ErrorCode::kInput, {dir.path().string(), "links lead to this folder"},
               [&] { open_archive(dir.path().string()); });
}

// As where classes are made of links to a few real folders.
TEST(HostileFolder, ManyLinksToOneFolderAreFine) {
  const TempDir dir, elsewhere;
  write_file(elsewhere / "x.jpg", "x");
  for (int i = 0; i < 200; ++i) {
    fs::create_directory_symlink(elsewhere.path(), dir / std::to_string(i));
  }
  const FolderListing listing = list_folder(dir.path());
  EXPECT_EQ(listing.files.size(), 200u);
  EXPECT_TRUE(listing.problems.empty());
}

}  // namespace
}  // namespace vig::test
