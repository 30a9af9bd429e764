#include "vig/image/tiff_tags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/errors.h"

namespace vig::test {
namespace {

struct Tag {
  uint64_t type, values;
};

// A file of 100,000 bytes, of which only header and directory mean anything.
constexpr size_t kFileBytes = 100'000;

std::vector<uint8_t> file_with(bool big_endian, bool big, const std::vector<Tag>& tags) {
  std::vector<uint8_t> bytes;
  const auto put = [&](uint64_t value, int width) {
    for (int i = 0; i < width; ++i) {
      const int shift = 8 * (big_endian ? width - 1 - i : i);
      bytes.push_back(static_cast<uint8_t>(value >> shift));
    }
  };
  const int word = big ? 8 : 4;
  for (int i = 0; i < 2; ++i) bytes.push_back(big_endian ? 'M' : 'I');
  put(big ? 43 : 42, 2);
  if (big) put(8, 4);  // bytes of an offset
  put(bytes.size() + static_cast<size_t>(word) + 16, word);
  bytes.resize(bytes.size() + 16);
  put(tags.size(), big ? 8 : 2);
  for (const Tag& tag : tags) {
    put(40000, 2);
    put(tag.type, 2);
    put(tag.values, word);
    put(8, word);
  }
  bytes.resize(kFileBytes);
  return bytes;
}

// Values of 165,536 bytes are allowed: those of the file and 64 kB that tags may share.
TEST(TiffTags, AreCountedByTheirTypes) {
  constexpr uint64_t kHalf = (kFileBytes + 65536) / 2;
  const uint64_t widths[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8, 0};
  for (const bool big_endian : {false, true}) {
    for (const bool big : {false, true}) {
      for (uint64_t type = 0; type < std::size(widths); ++type) {
        SCOPED_TRACE(testing::Message() << big_endian << " " << big << " type " << type);
        const uint64_t width = widths[type];
        const uint64_t values = width == 0 ? kFileBytes : kHalf / width;
        const auto most = file_with(big_endian, big, {{type, values}, {type, values}});
        check_tiff_tags(most, "x");
        const auto more = file_with(big_endian, big, {{type, values + 1}, {type, values}});
        if (width == 0) {  // types that do not exist
          check_tiff_tags(more, "x");
        } else {
          EXPECT_EQ(error_of([&] { check_tiff_tags(more, "x"); }),
                    "x: damaged TIFF: tags of " + std::to_string(2 * kHalf + width) +
                        " bytes in a file of 100000");
        }
      }
    }
  }
}

TEST(TiffTags, WhatCannotBeFollowedIsLeftToLibtiff) {
  for (const bool big : {false, true}) {
    auto bytes = file_with(false, big, {{1, kFileBytes}, {1, kFileBytes}});
    error_of([&] { check_tiff_tags(bytes, "x"); });
    // More values than the file has bytes.
    check_tiff_tags(file_with(false, big, {{1, kFileBytes + 1}, {4, kFileBytes / 4 + 1}}), "x");
    bytes.resize(30);  // a directory outside of the file
    check_tiff_tags(bytes, "x");
  }
}

}  // namespace
}  // namespace vig::test
