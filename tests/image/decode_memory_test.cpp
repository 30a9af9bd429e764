// The memory of images and label maps: what is refused before it is read, and who waits.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "image/fixtures.h"
#include "support/errors.h"
#include "vig/image/decode.h"
#include "vig/image/encode_png.h"
#include "vig/image/image_size.h"
#include "vig/image/label_file.h"

namespace vig::test {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(DecodeMemory, LimitsFollowThePixelsAllowed) {
  EXPECT_EQ(max_file_bytes({.max_pixels = 1000}), 8000 + (uint64_t{64} << 20));
  EXPECT_EQ(decoding_limit({.max_pixels = 1 << 24}), uint64_t{13} << 24);
  EXPECT_EQ(decoding_limit({.max_pixels = 1000}), uint64_t{128} << 20);
  for (const int64_t none : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    EXPECT_EQ(max_file_bytes({.max_pixels = none}), uint64_t{64} << 20);
    EXPECT_EQ(decoding_limit({.max_pixels = none}), uint64_t{128} << 20);
  }
  // No image is larger than 2^20 along each side.
  for (const int64_t all : {int64_t{1} << 40, INT64_MAX}) {
    EXPECT_EQ(max_file_bytes({.max_pixels = all}), (uint64_t{8} << 40) + (uint64_t{64} << 20));
    EXPECT_EQ(decoding_limit({.max_pixels = all}), uint64_t{13} << 40);
  }
}

// What reads a file: as an image, its size alone, as a label map.
struct Reader {
  const char* name;
  std::function<void(const ImageSource&)> read;
};
const Reader kReaders[] = {
    {"image", [](const ImageSource& source) { load_image(source); }},
    {"size", [](const ImageSource& source) { read_image_size(source); }},
    {"labels", [](const ImageSource& source) { load_label_map(source); }},
};

Bytes small_label_png() { return encode_label_map(LabelMap(3, 2, 7), {}); }

TEST(DecodeMemory, BytesOfTheFileCount) {
  image_memory().raise_capacity(decoding_limit({}));
  const uint64_t limit = image_memory().limit();
  const Bytes png = small_label_png();
  for (const Reader& reader : kReaders) {
    SCOPED_TRACE(reader.name);
    const auto read = [&](uint64_t bytes, uint64_t copied) {
      reader.read({"x", bytes, copied, [&](Bytes&) { return std::span<const uint8_t>(png); }});
    };
    const auto refused = [&](uint64_t copied) {
      expect_error(ErrorCode::kInput,
                   {"x: decoding takes ", "over the limit of " + std::to_string(limit)},
                   [&] { read(png.size(), copied); });
    };
    read(png.size(), limit / 2);
    refused(limit + 1);
    // The size needs no pixels.
    if (std::string(reader.name) != "size") {
      refused(limit - 1000);
    } else {
      read(png.size(), limit);
    }
    const uint64_t most = max_file_bytes({});
    read(most, 0);
    expect_error(ErrorCode::kInput,
                 {"x: " + std::to_string(most + 1) + " bytes, longer than the " +
                      std::to_string(most) + " bytes allowed for a",
                  " (raise it with --max-pixels)"},
                 [&] { read(most + 1, 0); });
    EXPECT_EQ(image_memory().used(), 0u);
  }
}

// What is read while others hold the memory is dropped, and read again when there is room.
TEST(DecodeMemory, WhatDoesNotFitBesideOthersWaitsForItsTurn) {
  MemoryBudget& budget = image_memory();
  budget.raise_capacity(decoding_limit({}));
  const Bytes png = small_label_png();
  for (const Reader& reader : kReaders) {
    if (std::string(reader.name) == "size") continue;
    SCOPED_TRACE(reader.name);
    MemoryBudget::Lease held = budget.take(budget.limit() - 1000);
    std::atomic<int> reads = 0;
    std::jthread other([&] {
      reader.read({"x", 0, 0, [&](Bytes&) {
                     ++reads;
                     return std::span<const uint8_t>(png);
                   }});
    });
    while (budget.waiting() < 1 && reads < 100) std::this_thread::yield();
    EXPECT_EQ(reads, 1);
    EXPECT_EQ(budget.used(), held.bytes());  // who waits holds nothing
    held.shrink_to(0);
    other.join();
    EXPECT_EQ(reads, 2);
    EXPECT_EQ(budget.used(), 0u);
  }
}

TEST(DecodeMemory, AImageHoldsItsPixelsAlone) {
  const Bytes png = encode_png(pattern(30, 20));
  LoadedImage loaded = load_image(png, "x");
  EXPECT_EQ(loaded.memory.bytes(), 30u * 20 * 3);
  EXPECT_EQ(image_memory().used(), 30u * 20 * 3);
  std::shared_ptr<const Image> shared = shared_image(std::move(loaded));
  EXPECT_EQ(*shared, pattern(30, 20));
  EXPECT_EQ(image_memory().used(), 30u * 20 * 3);
  shared.reset();
  EXPECT_EQ(image_memory().used(), 0u);
}

}  // namespace
}  // namespace vig::test
