#include "vig/pipeline/pictures.h"

#include <gtest/gtest.h>

#include "pipeline/fixtures.h"

namespace vig::test {
namespace {

// Cutting ahead in 8 bits and normalising later is the same as doing it at once.
TEST(Pictures, TwoStepsGiveTheBitsOfOne) {
  for (const int size : {64, 224, 257}) {
    const Recipe recipe = Recipe().with_size(size);
    for (const char* name : {"photos/cat_chelsea.png", "photos/rocket_strip_640x12.jpg",
                             "photos/pixel_1x1.png", "photos/kitten_gray.jpg"}) {
      const std::string file = picture_file(name);
      const Picture picture = read_picture(file, recipe, {});
      ASSERT_TRUE(picture.good()) << picture.error;
      const auto count = static_cast<size_t>(size) * static_cast<size_t>(size) * 3;
      std::vector<float> once(count), twice(count);
      const Placement placement = preprocess(read_image(file), recipe, once.data());
      normalise(picture.crop, recipe, twice.data());
      EXPECT_EQ(once, twice) << name << " at " << size;
      EXPECT_EQ(placement, picture.placement);
    }
  }
}

TEST(Pictures, ABadFileComesBackWithItsError) {
  const Picture picture = read_picture(picture_file("broken/zero_byte.png"), Recipe(), {});
  EXPECT_FALSE(picture.good());
  EXPECT_NE(picture.error.find("zero_byte.png"), std::string::npos);
}

TEST(PictureReader, HandsOutAllFilesInOrder) {
  const std::vector<std::string> names = {
      picture_file("photos/pixel_1x1.png"), picture_file("broken/zero_byte.png"),
      picture_file("photos/pixel_1x1.jpg"), "missing.png", picture_file("photos/hopper_1bit.png")};
  for (const int batch : {1, 2, 5, 9}) {
    PictureReader reader(names, batch, [](const std::string& file) {
      return read_picture(file, Recipe().with_size(32), {});
    });
    std::vector<std::string> seen;
    std::vector<bool> good;
    for (auto pictures = reader.next(); !pictures.empty(); pictures = reader.next()) {
      EXPECT_LE(pictures.size(), static_cast<size_t>(batch));
      for (const Picture& picture : pictures) {
        seen.push_back(picture.name);
        good.push_back(picture.good());
      }
    }
    EXPECT_EQ(seen, names);
    EXPECT_EQ(good, (std::vector<bool>{true, false, true, false, true}));
    EXPECT_TRUE(reader.next().empty());
  }
}

TEST(PictureReader, MayEndEarly) {
  PictureReader reader(std::vector<std::string>(9, picture_file("photos/hopper_1bit.png")), 2,
                       [](const std::string& file) { return read_picture(file, Recipe(), {}); });
  EXPECT_EQ(reader.next().size(), 2u);  // and the next ones are still being read
}

}  // namespace
}  // namespace vig::test
