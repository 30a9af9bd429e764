// Receptive fields: sums, areas and images of fields that are known.
#include "vig/study/receptive_field.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/errors.h"
#include "support/xml.h"

namespace vig::test {
namespace {

using namespace study;

// A gradient of `value` in the rows and columns first..last, and 0 elsewhere.
std::vector<float> square(int size, int first, int last, float value) {
  std::vector<float> gradient(static_cast<size_t>(size) * size * 3);
  for (int y = first; y <= last; ++y) {
    for (int x = first; x <= last; ++x) {
      gradient[(static_cast<size_t>(y) * size + x) * 3 + 1] = value;
    }
  }
  return gradient;
}

TEST(ReceptiveField, AddsAbsoluteValuesOfAllColoursAndImages) {
  ReceptiveField field(2);
  field.add(std::vector<float>{1, -2, 3, 0, 0, 0, 0, 0, 0, 0, -4, 0});
  field.add(std::vector<float>{0, 0, -1, 0.5f, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(field.at(0, 0), 7);
  EXPECT_EQ(field.at(0, 1), 0.5);
  EXPECT_EQ(field.at(1, 0), 0);
  EXPECT_EQ(field.at(1, 1), 4);
  EXPECT_EQ(field.total(), 11.5);
}

TEST(ReceptiveField, AreasOfASquareAreItsOwn) {
  // 5 x 5 equal pixels around the centre (8, 8) of 16 x 16.
  ReceptiveField field(16);
  field.add(square(16, 6, 10, -1));
  EXPECT_EQ(field.area_holding(0.01), 1 / 256.0);  // one pixel of 25 holds 4 %
  EXPECT_EQ(field.area_holding(0.04), 1 / 256.0);
  EXPECT_EQ(field.area_holding(0.05), 9 / 256.0);
  EXPECT_EQ(field.area_holding(0.36), 9 / 256.0);
  EXPECT_EQ(field.area_holding(0.5), 25 / 256.0);
  EXPECT_EQ(field.area_holding(0.99), 25 / 256.0);
  EXPECT_EQ(field.outer_level(), 0);
}

TEST(ReceptiveField, AnEvenFieldCoversTheInput) {
  ReceptiveField field(64);
  field.add(std::vector<float>(64 * 64 * 3, 0.1f));
  EXPECT_EQ(field.area_holding(0.2), 29 * 29 / 4096.0);  // 27 * 27 is below a fifth of 4096
  EXPECT_EQ(field.area_holding(0.5), 47 * 47 / 4096.0);
  EXPECT_EQ(field.area_holding(1), 1);
  EXPECT_NEAR(field.outer_level(), 1, 1e-9);
}

TEST(ReceptiveField, OfNothingIsNothing) {
  const ReceptiveField field(8);
  EXPECT_EQ(field.area_holding(0.99), 0);
  EXPECT_EQ(field.outer_level(), 0);
  EXPECT_EQ(field.text(4), std::string(16, 'A'));
  EXPECT_EQ(field_image(field.text(4)), Image(4, 4));
}

TEST(ReceptiveField, RefusesWhatIsNoGradient) {
  ReceptiveField field(2);
  expect_error(ErrorCode::kInput, {"11 gradients for an input of 2 x 2"},
               [&] { field.add(std::vector<float>(11)); });
  std::vector<float> broken(12);
  broken[7] = std::numeric_limits<float>::quiet_NaN();
  expect_error(ErrorCode::kInput, {"not finite"}, [&] { field.add(broken); });
  EXPECT_EQ(field.total(), 0);
  expect_error(ErrorCode::kUsage, {"expected a divisor"}, [&] { field.text(3); });
}

TEST(ReceptiveField, ImagesAreBrightWhereItIs) {
  ReceptiveField field(8);
  field.add(square(8, 4, 5, 1));
  field.add(square(8, 2, 2, 1e-2f));
  field.add(square(8, 0, 0, 1e-6f));
  const std::string text = field.text(4);
  ASSERT_EQ(text.size(), 16u);
  EXPECT_EQ(text[2 * 4 + 2], '/');
  EXPECT_EQ(text[3 * 4 + 3], 'A');
  const Image image = field_image(text);
  const auto level = [&](int y, int x) {
    const uint8_t* pixel = image.row(y) + 3 * x;
    return pixel[0] + pixel[1] + pixel[2];
  };
  EXPECT_EQ(level(2, 2), 3 * 255);  // the largest
  EXPECT_GT(level(1, 1), 0);        // a 400th of it
  EXPECT_LT(level(1, 1), level(2, 2));
  EXPECT_EQ(level(0, 0), 0);  // below the scale
  EXPECT_EQ(level(3, 3), 0);
}

TEST(ReceptiveField, RefusesATextThatIsNoField) {
  expect_error(ErrorCode::kInput, {"15 characters", "square"},
               [] { field_image(std::string(15, 'A')); });
  expect_error(ErrorCode::kInput, {"'-' is no level"}, [] { field_image("AAA-"); });
  expect_error(ErrorCode::kInput, {"0 characters"}, [] { field_image(""); });
}

TEST(FieldSheet, HoldsItsImagesAndSaysWhatTheyAre) {
  ReceptiveField field(8);
  field.add(square(8, 4, 4, 1));
  const FieldRow row{"initial <weights>",
                     {{"vig_t", "99 % in 5 %", field_image(field.text(8))},
                      {"deit_t", "99 % in 90 %", field_image(field.text(8))}}};
  const std::string svg = field_sheet_svg("Receptive fields", std::vector{row, row});
  EXPECT_EQ(xml_problem(svg), "");
  size_t images = 0;
  for (size_t at = 0; (at = svg.find("data:image/jpeg;base64,/9j/", at)) != svg.npos; ++at) {
    ++images;
  }
  EXPECT_EQ(images, 4u);
  EXPECT_NE(svg.find("initial &lt;weights&gt;"), svg.npos);
  EXPECT_NE(svg.find("99 % in 90 %"), svg.npos);
}

}  // namespace
}  // namespace vig::test
