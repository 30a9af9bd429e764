// Values of options that several commands take.
#include "vig/cli/options.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace vig::test {
namespace {

TEST(Options, SizesAreHeightAndWidth) {
  const auto expect_size = [](const char* text, int height, int width) {
    const cli::InputSize size = cli::parse_size(text);
    EXPECT_EQ(size.height, height) << text;
    EXPECT_EQ(size.width, width) << text;
  };
  expect_size("1", 1, 1);
  expect_size("384x512", 384, 512);
  expect_size("8192x1", 8192, 1);
  for (const std::string bad : {"", "0", "8193", "64x0", "0x64", "64x8193", "8193x64", "x", "64x",
                                "x64", "1x2x3", "+64", "-64", " 64", "64 ", "6.4", "99999999999"}) {
    expect_error(ErrorCode::kUsage, {"--size " + bad + ": expected N or HEIGHTxWIDTH", "1 to 8192"},
                 [&] { cli::parse_size(bad); });
  }
  const auto sizes = cli::parse_sizes("32,64x96");
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_EQ(sizes[0].width, 32);
  EXPECT_EQ(sizes[1].width, 96);
}

TEST(Options, SizesOfMemoryHaveUnits) {
  EXPECT_EQ(cli::parse_bytes("--max-memory", "1GB"), 1'000'000'000u);
  EXPECT_EQ(cli::parse_bytes("--max-memory", "1.5MB"), 1'500'000u);
  EXPECT_EQ(cli::parse_bytes("--max-memory", "2GiB"), uint64_t{2} << 30);
  EXPECT_EQ(cli::parse_bytes("--max-memory", "500KB"), 500'000u);
  EXPECT_EQ(cli::parse_bytes("--max-memory", "12345"), 12345u);
  for (const std::string bad : {"", "0", "GB", "-1GB", "1 GB", "1gb", "1GBs", "1e9", "0.1", "nan",
                                "inf", "9999999TB", "1GB "}) {
    expect_error(ErrorCode::kUsage, {"--max-memory " + bad + ": expected a size such as 500MB"},
                 [&] { cli::parse_bytes("--max-memory", bad); });
  }
}

TEST(Options, ListsOfIntegersHaveALimit) {
  EXPECT_EQ(cli::parse_integers("--batch", "1,1024,7", 1024), (std::vector{1, 1024, 7}));
  for (const std::string bad : {"", ",", "1,", ",1", "0", "1025", "1,1025", "1;2", "a"}) {
    expect_error(ErrorCode::kUsage, {"--batch " + bad + ": expected whole numbers from 1 to 1024"},
                 [&] { cli::parse_integers("--batch", bad, 1024); });
  }
}

TEST(Options, FieldsHaveANameAndAnyValue) {
  const std::map<std::string, std::string> expected = {{"a", "2"}, {"b", "x=y"}, {"c", ""}};
  EXPECT_EQ(cli::parse_fields({"a=1", "b=x=y", "c=", "a=2"}), expected);  // the last one counts
  for (const std::string bad : {"", "a", "=1"}) {
    expect_error(ErrorCode::kUsage, {"--set " + bad + ": expected FIELD=VALUE"},
                 [&] { cli::parse_fields({bad}); });
  }
}

// The parts in their order are the list, and none is longer than another by more than one.
TEST(Options, PartsOfAListAreEqual) {
  for (const size_t size : {0u, 1u, 2u, 7u, 8u, 100u}) {
    for (const int count : {1, 2, 3, 8}) {
      size_t next = 0;
      for (int index = 1; index <= count; ++index) {
        const cli::Shard shard =
            cli::parse_shard(std::to_string(index) + "/" + std::to_string(count));
        EXPECT_EQ(shard.first(size), next);
        next = shard.last(size);
        const size_t own = next - shard.first(size);
        EXPECT_GE(own, size / static_cast<size_t>(count));
        EXPECT_LE(own, size / static_cast<size_t>(count) + 1);
      }
      EXPECT_EQ(next, size);
    }
  }
  EXPECT_EQ(cli::shard_samples("", 3), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(cli::shard_samples("2/2", 5), (std::vector<size_t>{2, 3, 4}));
  EXPECT_EQ(cli::shard_samples("3/3", 3), (std::vector<size_t>{2}));
  expect_error(ErrorCode::kUsage, {"--shard 1/4: more parts than the 3 images"},
               [] { cli::shard_samples("1/4", 3); });
}

}  // namespace
}  // namespace vig::test
