#include "vig/data/tar.h"

#include <gtest/gtest.h>

#include "data/archive_bytes.h"
#include "data/opened.h"
#include "support/errors.h"
#include "vig/base/random.h"

namespace vig::test {
namespace {

using namespace std::string_literals;

const std::string kLong = std::string(90, 'c') + "/" + std::string(140, 'd') + "/1.jpg";

std::string gnu_long_name(const std::string& name, char type = 'L') {
  return tar_entry({.name = "././@LongLink", .type = type, .magic = "ustar  "}, name + "\0"s);
}

std::string pax_header(const std::string& records) {
  return tar_entry({.name = "PaxHeaders/1.jpg", .type = 'x'}, records);
}

TEST(Tar, LongNames) {
  const OpenBytes open;
  const Files one = {{kLong, "data"}};
  EXPECT_EQ(open(gnu_long_name(kLong) + tar_entry({.name = kLong}, "data") + tar_end()), one);
  EXPECT_EQ(open(pax_header(pax_record("mtime", "1.5") + pax_record("path", kLong)) +
                 tar_entry({.name = kLong}, "data") + tar_end()),
            one);
  // A name of exactly 100 bytes has no null behind it; the prefix may be 155 bytes long.
  const std::string prefix(155, 'p'), name(100, 'n');
  EXPECT_EQ(open(tar_entry({.name = name, .prefix = prefix}, "data") + tar_end()),
            (Files{{prefix + "/" + name, "data"}}));
  // There GNU's own format keeps times.
  EXPECT_EQ(open(tar_entry({.name = name, .prefix = "14000000000", .magic = "ustar  "}, "data") +
                 tar_end()),
            (Files{{name, "data"}}));
  // A header of its own counts for one entry only.
  EXPECT_EQ(open(gnu_long_name(kLong) + tar_entry({.name = "x"}, "data") +
                 tar_entry({.name = "y"}, "more") + tar_end()),
            (Files{{kLong, "data"}, {"y", "more"}}));
}

TEST(Tar, Sizes) {
  const OpenBytes open;
  const std::string data(600, 'z');
  const Files one = {{"a", data}};
  const auto with_field = [&](const std::string& field) {
    return tar_header({.name = "a", .size_field = field}) + tar_padded(data) + tar_end();
  };
  EXPECT_EQ(open(with_field("00000001130\0"s)), one);
  EXPECT_EQ(open(with_field("000000001130")), one);
  EXPECT_EQ(open(with_field("       1130 ")), one);
  EXPECT_EQ(open(with_field("\x80"s + std::string(9, '\0') + "\x02\x58")), one);
  EXPECT_EQ(open(pax_header(pax_record("size", "600")) + with_field("00000000000")), one);
}

TEST(Tar, LyingSizesRaise) {
  const OpenBytes open;
  for (const std::string& field :
       {"00000001131"s, "00000002001"s, "77777777777"s, "777777777777"s, "0000000113x"s,
        "-0000001130"s, "\x80"s + std::string(11, '\xff'), "\xff"s + std::string(11, '\xff'),
        "\x80"s + std::string(3, '\0') + "\x7f" + std::string(7, '\xff'),
        "\x80"s + std::string(3, '\0') + std::string(8, '\xff')}) {
    // A file of one block, followed by nothing that could be taken for its rest.
    const std::string tar = tar_header({.name = "a", .size_field = field}) + std::string(512, 'z');
    const std::string error = error_of([&] { open(tar); });
    EXPECT_NE(error.find(" at byte "), std::string::npos) << error;
    EXPECT_TRUE(error.starts_with(open.path())) << error;
  }
  // 2^64 more than what is there.
  const std::string wrapped = "\x80\0\0\x01"s + std::string(6, '\0') + "\x02\0"s;
  EXPECT_NE(
      error_of([&] {
        open(tar_header({.name = "a", .size_field = wrapped}) + std::string(512, 'z') + tar_end());
      }).find("a number is out of range at byte "),
      std::string::npos);
  for (const std::string& records :
       {pax_record("size", "99999999999999999999999"), pax_record("size", "18446744073709551615"),
        pax_record("size", "18446744073709551000"), pax_record("size", "-1"),
        pax_record("size", "12 "), pax_record("size", ""), "99 path=x\n"s, "3 p\n"s, "0 path=x\n"s,
        "2 x\n"s, "path=x\n"s, "9 path=xx"s, "8 path x\n"s, "99999999999999999999999 path=x\n"s,
        "-9 path=x\n"s, pax_record("GNU.sparse.major", "1")}) {
    const std::string tar = pax_header(records) + tar_entry({.name = "a"}, "data") + tar_end();
    EXPECT_FALSE(survives([&] { open(tar); })) << records;
  }
  // A name of a gigabyte in a small file, and one that is there but absurd.
  EXPECT_FALSE(
      survives([&] { open(tar_header({.name = "x", .size = 1 << 30, .type = 'L'}) + tar_end()); }));
  EXPECT_FALSE(survives([&] {
    open(gnu_long_name(std::string(2 << 20, 'n')) + tar_entry({.name = "a"}, "data") + tar_end());
  }));
  EXPECT_FALSE(survives([&] { open(tar_entry({.name = "a", .type = 'S'}, "x") + tar_end()); }));
}

TEST(Tar, CutAnywhereRaises) {
  const OpenBytes open;
  const std::string tar = tar_bytes({{"a", std::string(1000, 'a')}, {"b", ""}, {"c", "c"}});
  const size_t end = tar.size() - 1024;
  for (size_t length = 512; length < tar.size(); length += 256) {
    const std::string cut = tar.substr(0, length);
    if (length >= end + 512) {
      EXPECT_EQ(open(cut).size(), 3u);  // half of the end mark is enough
      continue;
    }
    const std::string error = error_of([&] { open(cut); });
    EXPECT_NE(error.find("cut short"), std::string::npos) << length << ": " << error;
    EXPECT_FALSE(survives([&] { open(gzip_bytes(cut)); }));
  }
}

TEST(Tar, EveryFlippedHeaderByteRaises) {
  const std::string tar = tar_bytes({{"a", "first"}, {"b", "second"}});
  for (size_t i = 0; i < 512; ++i) {
    if (i >= 148 && i < 156) continue;  // the sum itself: blanks and nulls in it say nothing
    std::string flipped = tar;
    flipped[1024 + i] = static_cast<char>(flipped[1024 + i] ^ (1 << i % 8));
    expect_error(ErrorCode::kInput, {"x.tar: ", "checksum", "at byte 1024"},
                 [&] { open_tar("x.tar", in_memory(flipped)); });
  }
}

TEST(Tar, ChecksumsOfSignedBytes) {
  std::string tar = tar_bytes({{"m\xc3\xb6ps", "data"}});
  const OpenBytes open;
  // Two bytes above 127: the signed sum is 512 less.
  const unsigned sum = static_cast<unsigned>(std::stoul(tar.substr(148, 6), nullptr, 8));
  std::string digits(6, '0');
  for (unsigned rest = sum - 512, i = 6; i-- > 0; rest /= 8) digits[i] = char('0' + rest % 8);
  tar.replace(148, 6, digits);
  EXPECT_EQ(open(tar).size(), 1u);
}

TEST(Tar, LinksAreResolvedInsideTheArchive) {
  const OpenBytes open;
  const std::string tar = tar_entry({.name = "cat/1.jpg"}, "one") +
                          tar_header({.name = "dog/2.jpg", .type = '1', .target = "./cat/1.jpg"}) +
                          tar_header({.name = "dog/3.jpg", .type = '2', .target = "../cat/1.jpg"}) +
                          tar_header({.name = "dog/4.jpg", .type = '2', .target = "5.jpg"}) +
                          tar_header({.name = "dog/5.jpg", .type = '2', .target = "3.jpg"}) +
                          gnu_long_name("cat/1.jpg", 'K') +
                          tar_header({.name = "dog/6.jpg", .type = '1', .target = "zzz"}) +
                          tar_end();
  EXPECT_EQ(open(tar), (Files{{"cat/1.jpg", "one"},
                              {"dog/2.jpg", "one"},
                              {"dog/3.jpg", "one"},
                              {"dog/4.jpg", "one"},
                              {"dog/5.jpg", "one"},
                              {"dog/6.jpg", "one"}}));

  const auto broken =
      open.open(tar_header({.name = "a", .type = '2', .target = "b"}) +
                tar_header({.name = "b", .type = '2', .target = "a"}) +
                tar_header({.name = "c", .type = '2', .target = "/etc/hostname"}) +
                tar_header({.name = "d", .type = '2', .target = "../../../../etc/hostname"}) +
                tar_header({.name = "e", .type = '1', .target = "nothing"}) + tar_end());
  ASSERT_EQ(broken->files().size(), 5u);
  EXPECT_EQ(broken->folders(), (std::vector<std::string>{"a", "b", "c", "d"}));
  for (size_t i = 0; i < 5; ++i) {
    expect_error(ErrorCode::kInput, {broken->location(i), "link"}, [&] { read_text(*broken, i); });
  }
}

TEST(Tar, OddEntries) {
  const OpenBytes open;
  const std::string tar =
      tar_entry({.name = "pax_global_header", .type = 'g'}, pax_record("comment", "x")) +
      tar_header({.name = "./", .type = '5'}) +
      tar_header({.name = "cat/", .size = 9, .type = '5'}) +
      tar_header({.name = "old/", .type = '\0'}) +                 // a folder before ustar
      tar_header({.name = "null", .type = '3'}) +                  // a device
      tar_entry({.name = "later", .type = 'Z'}, "unknown kind") +  // skipped with its content
      tar_entry({.name = "cat/1", .type = '\0'}, "old") +          // as v7 wrote files
      tar_entry({.name = "cat/1", .type = '7'}, "new") + tar_end() + "behind the end";
  const auto archive = open.open(tar);
  EXPECT_EQ(read_all(*archive), (Files{{"cat/1", "new"}}));
  EXPECT_EQ(archive->folders(), (std::vector<std::string>{"cat", "old"}));
}

TEST(Tar, TheLastEntryOfANameCounts) {
  const OpenBytes open;
  const std::string target = tar_entry({.name = "b"}, "target");
  const std::string link = tar_header({.name = "a", .type = '2', .target = "b"});
  const std::string file = tar_entry({.name = "a"}, "own");
  EXPECT_EQ(open(target + link + file + tar_end()), (Files{{"a", "own"}, {"b", "target"}}));
  EXPECT_EQ(open(target + file + link + tar_end()), (Files{{"a", "target"}, {"b", "target"}}));
}

// Names, targets and sizes in headers of their own are those of the next entry alone.
TEST(Tar, HeadersOfTheirOwnCountForOneEntry) {
  const OpenBytes open;
  EXPECT_EQ(open(pax_header(pax_record("size", "6")) + tar_header({.name = "a"}) +
                 tar_padded("longer") + tar_entry({.name = "b"}, "four") + tar_end()),
            (Files{{"a", "longer"}, {"b", "four"}}));
  const std::string files = tar_entry({.name = "a"}, "one") + tar_entry({.name = "b"}, "two");
  const std::string links = tar_header({.name = "c", .type = '2', .target = "nothing"}) +
                            tar_header({.name = "d", .type = '2', .target = "b"}) + tar_end();
  const Files all = {{"a", "one"}, {"b", "two"}, {"c", "one"}, {"d", "two"}};
  EXPECT_EQ(open(files + pax_header(pax_record("linkpath", "a")) + links), all);
  EXPECT_EQ(open(files + gnu_long_name("a", 'K') + links), all);
}

// Some writers give links the size of their targets.
TEST(Tar, LinksFoldersAndDevicesHaveNoContent) {
  const OpenBytes open;
  for (const char type : {'1', '2', '3', '4', '5', '6'}) {
    const auto archive =
        open.open(tar_entry({.name = "a"}, "one") +
                  tar_header({.name = "b", .size = 700, .type = type, .target = "a"}) +
                  tar_entry({.name = "c"}, "three") + tar_entry({.name = "d"}, "four") + tar_end());
    const size_t files = archive->files().size();
    EXPECT_EQ(files, type == '1' || type == '2' ? 4u : 3u) << type;
    EXPECT_EQ(read_text(*archive, files - 2), "three") << type;
  }
}

TEST(Tar, AsManyLinksAreFollowedAsLinuxFollows) {
  std::string tar = tar_entry({.name = "0"}, "end");
  for (int i = 1; i <= 41; ++i) {
    tar += tar_header({.name = std::to_string(i), .type = '2', .target = std::to_string(i - 1)});
  }
  const OpenBytes open;
  const auto archive = open.open(tar + tar_end());
  EXPECT_EQ(read_text(*archive, 40), "end");
  expect_error(ErrorCode::kInput, {archive->location(41), "link"},
               [&] { read_text(*archive, 41); });
}

// They name files of the machine that packed the archive. Hard links name entries, and packers take
// the slash off those.
TEST(Tar, AbsoluteSymbolicLinksNameNothingInTheArchive) {
  const OpenBytes open;
  const auto archive =
      open.open(tar_entry({.name = "cat/1.jpg"}, "one") +
                tar_header({.name = "dog/2.jpg", .type = '2', .target = "/cat/1.jpg"}) +
                tar_header({.name = "dog/3.jpg", .type = '1', .target = "/cat/1.jpg"}) + tar_end());
  EXPECT_EQ(archive->folders(), std::vector<std::string>{"dog/2.jpg"});
  expect_error(ErrorCode::kInput, {"dog/2.jpg", "link"}, [&] { read_text(*archive, 1); });
  EXPECT_EQ(read_text(*archive, 2), "one");
}

// Any damage ends in an Error or in an archive that can be read; sanitisers watch the rest.
TEST(Tar, RandomDamage) {
  const std::string good = gnu_long_name(kLong) + tar_entry({.name = "x"}, "data") +
                           pax_header(pax_record("path", kLong + "2")) +
                           tar_entry({.name = "y"}, "more") +
                           tar_header({.name = "z", .type = '2', .target = "y"}) + tar_end();
  RandomStream stream(7);
  int survived = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    for (uint64_t i = 0; i <= stream.below(4); ++i) {
      const size_t at = stream.below(bytes.size());
      bytes[at] = static_cast<char>(stream.bits());
      // Half of them get past the checksum.
      if (stream.chance(0.5)) seal_tar_header(bytes, at / 512 * 512);
    }
    survived += survives([&] { read_all(*open_tar("x.tar", in_memory(bytes))); });
  }
  EXPECT_GT(survived, 0);
  EXPECT_LT(survived, 3000);
}

}  // namespace
}  // namespace vig::test
