// Files made to hurt. None may crash, hang or take much memory; the index says which must fail.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "image/fixtures.h"
#include "vig/base/error.h"
#include "vig/image/decode.h"

namespace vig {
namespace {

using Clock = std::chrono::steady_clock;

enum class Outcome { kDecoded, kError };

// Anything but a whole image or an Error that names the file ends the test.
Outcome try_decode(std::span<const uint8_t> bytes, const std::string& name,
                   const DecodeOptions& options = {}) {
  try {
    const Image image = decode_image(bytes, name, options);
    EXPECT_GE(image.width, 1) << name;
    EXPECT_GE(image.height, 1) << name;
    EXPECT_EQ(image.rgb.size(), image.row_bytes() * static_cast<size_t>(image.height)) << name;
    return Outcome::kDecoded;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInput);
    EXPECT_EQ(std::string(error.what()).rfind(name + ": ", 0), 0u) << error.what();
    return Outcome::kError;
  }
}

TEST(Broken, EveryFileBehavesAsListed) {
  int files = 0;
  for (const auto& row : test::read_table(test::data_path("broken/index.tsv"))) {
    if (row.at(0) == "file") continue;
    SCOPED_TRACE(row[0] + ": " + row.at(1));
    const auto bytes = test::read_bytes(test::data_path("broken/" + row[0]));
    const auto start = Clock::now();
    const Outcome outcome = try_decode(bytes, row[0]);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (row.at(2) == "error") {
      EXPECT_EQ(outcome, Outcome::kError);
    }
    if (row.at(2) == "decode") {
      EXPECT_EQ(outcome, Outcome::kDecoded);
    }
    EXPECT_LT(seconds, 30.0);  // a second at most on an idle machine, without sanitisers
    ++files;
  }
  EXPECT_EQ(files, 95);
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 1 << 20) << "kilobytes";
}

TEST(Broken, CutJpegsAreErrors) {
  for (const char* file :
       {"truncated_half.jpg", "truncated_end.jpg", "truncated_progressive.jpg"}) {
    const auto bytes = test::read_bytes(test::data_path(std::string("broken/") + file));
    EXPECT_EQ(try_decode(bytes, file), Outcome::kError) << file;
  }
}

TEST(Broken, RepeatedScansAreRefused) {
  const char* file = "progressive_1500_scans.jpg";
  try {
    decode_image(test::read_bytes(test::data_path(std::string("broken/") + file)), file);
    FAIL() << "decoded";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "progressive_1500_scans.jpg: damaged JPEG: 185 scans that visit 1615078125 "
                 "coefficients, expected at most 500 and 1610612736 (fixed limits)");
  }
}

const char* const kSeeds[] = {
    "photos/pixel_1x1.jpg",           "photos/rocket_strip_640x12.jpg",
    "photos/logo_cmyk.jpg",           "photos/hopper_orient6.webp",
    "photos/squares_animated.webp",   "photos/dice_lossy_alpha.webp",
    "photos/rocket_palette_2bit.png", "pngsuite/basi6a16.png",
    "pngsuite/tbbn3p08.png",
};

TEST(Broken, CutAnywhere) {
  for (const char* seed : kSeeds) {
    const auto whole = test::read_bytes(test::data_path(seed));
    ASSERT_EQ(try_decode(whole, seed), Outcome::kDecoded);
    const size_t stride = whole.size() / 150 + 1;
    for (size_t size = 0; size < whole.size(); size += stride) {
      // An exact copy, so that the address sanitiser sees every read past the end.
      const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      const Outcome outcome = try_decode(cut, seed);
      if (size < whole.size() / 2) {
        EXPECT_EQ(outcome, Outcome::kError) << seed << " " << size;
      }
    }
  }
}

TEST(Broken, FlippedAnywhere) {
  std::mt19937 random(1);
  for (const char* seed : kSeeds) {
    const auto whole = test::read_bytes(test::data_path(seed));
    for (int round = 0; round < 200; ++round) {
      auto bytes = whole;
      // Headers are short and matter most, so half of the flips go there.
      for (int flip = 0; flip < 1 + round % 4; ++flip) {
        const size_t range = round % 2 == 0 ? std::min<size_t>(bytes.size(), 200) : bytes.size();
        bytes[random() % range] ^= static_cast<uint8_t>(1u << random() % 8);
      }
      // A small limit keeps flipped sizes from costing seconds.
      try_decode(bytes, seed, {.max_pixels = 1 << 20});
    }
  }
}

}  // namespace
}  // namespace vig
