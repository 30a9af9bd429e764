#include "vig/data/image_files.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/files.h"
#include "support/tree.h"
#include "vig/base/memory_budget.h"
#include "vig/image/decode.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

std::string photo(const std::string& name) {
  return (fs::path(kFixtures) / "image/photos" / name).string();
}

TEST(ImageFiles, LoadsWhatTheDecoderGives) {
  const std::string upright = photo("flower.webp"), turned = photo("hopper_orient6.webp");
  const ImageFiles files({upright, turned});
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files.path(1), turned);
  EXPECT_EQ(files.location(1), turned);
  for (size_t i = 0; i < 2; ++i) {
    const Sample sample = files.load(i);
    EXPECT_EQ(sample.image->rgb, read_image(files.path(i)).rgb);
    EXPECT_EQ(sample.target, nullptr);
  }
  const ImageFiles stored({turned}, {.apply_orientation = false});
  EXPECT_NE(stored.load(0).image->rgb, files.load(1).image->rgb);
}

// As long as an image is used, it counts among the memory of all decoders.
TEST(ImageFiles, ImagesHoldTheirMemory) {
  const ImageFiles files({photo("flower.webp")});
  const uint64_t before = image_memory().used();
  Sample sample = files.load(0);
  EXPECT_EQ(image_memory().used(), before + sample.image->rgb.size());
  sample = {};
  EXPECT_EQ(image_memory().used(), before);
}

TEST(ImageFiles, ErrorsNameTheFile) {
  const TempDir folder;
  const std::string odd = (folder / "odd\x1b[31m.png").string();
  write_file(odd, "no image");
  const ImageFiles files({"missing.png", odd, photo("flower.webp")}, {.max_pixels = 10});
  expect_error(ErrorCode::kInput, {"missing.png: "}, [&] { files.load(0); });
  expect_error(ErrorCode::kInput, {": not an image"}, [&] { files.load(1); });
  expect_error(ErrorCode::kInput, {"flower.webp: ", "limit of 10 pixels"}, [&] { files.load(2); });
  EXPECT_EQ(files.path(1), odd);
  EXPECT_EQ(files.location(1).find('\x1b'), std::string::npos);
}

TEST(ImageBytes, AreFilesWithoutADisk) {
  const std::string good = read_file(photo("flower.webp"));
  const auto bytes_of = [](const std::string& text) {
    return std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  const ImageBytes files({{"an upload", bytes_of(good)}, {"another", bytes_of(good).first(40)}});
  EXPECT_EQ(files.load(0).image->rgb, read_image(photo("flower.webp")).rgb);
  EXPECT_EQ(files.path(0), "an upload");
  expect_error(ErrorCode::kInput, {"another: "}, [&] { files.load(1); });
  const ImageBytes odd({{"an \x1b[31mupload", bytes_of(good)}}, {.max_pixels = 10});
  expect_error(ErrorCode::kInput, {"limit of 10 pixels"}, [&] { odd.load(0); });
  EXPECT_EQ(odd.location(0), "an \\x1b[31mupload");
}

}  // namespace
}  // namespace vig::test
