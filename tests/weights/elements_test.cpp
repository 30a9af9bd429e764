#include "vig/weights/elements.h"

#include <string>

#include "support/errors.h"
#include "support/zip_bytes.h"

namespace vig::test {
namespace {

using namespace std::string_literals;

struct Case {
  DType type;
  std::string bytes;            // of two elements
  std::vector<int64_t> values;  // of the whole numbers among them
};

// The largest and the smallest number of each width, with and without a sign.
const Case kWhole[] = {
    {DType::kI64,
     little_endian(INT64_MAX, 8) + little_endian(1ull << 63, 8),
     {INT64_MAX, INT64_MIN}},
    {DType::kI32,
     little_endian(INT32_MAX, 4) + little_endian(1ull << 31, 4),
     {INT32_MAX, INT32_MIN}},
    {DType::kI16, "\xff\x7f\x00\x80"s, {32767, -32768}},
    {DType::kI8, "\x7f\x80"s, {127, -128}},
    {DType::kU8, "\xff\x80"s, {255, 128}},
    {DType::kBool, "\x02\x00"s, {1, 0}},
};

TEST(Elements, WholeNumbersKeepTheirSigns) {
  for (const Case& c : kWhole) {
    SCOPED_TRACE(dtype_name(c.type));
    const std::string moved = "x" + c.bytes;  // at any alignment
    const TensorView view{moved.data() + 1, c.type, {2}};
    EXPECT_EQ(to_int64s(view), c.values);
    EXPECT_EQ(to_floats(view), std::vector<float>(c.values.begin(), c.values.end()));
    EXPECT_FALSE(is_float(c.type));
  }
}

TEST(Elements, FractionsAreNoWholeNumbers) {
  const struct {
    DType type;
    std::string bytes;
  } cases[] = {{DType::kF64, little_endian(0xbff8000000000000, 8)},
               {DType::kF32, little_endian(0xbfc00000, 4)},
               {DType::kF16, little_endian(0xbe00, 2)},
               {DType::kBF16, little_endian(0xbfc0, 2)}};
  for (const auto& c : cases) {
    const std::string moved = "x" + c.bytes;
    const TensorView view{moved.data() + 1, c.type, {1}};
    EXPECT_EQ(to_floats(view), std::vector<float>{-1.5f}) << dtype_name(c.type);
    EXPECT_EQ(error_of([&] { to_int64s(view); }),
              "expected a tensor of integers, found " + std::string(dtype_name(c.type)));
    EXPECT_TRUE(is_float(c.type));
  }
}

TEST(Elements, EveryTypeHasAName) {
  for (const char* name : {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL"}) {
    const auto type = dtype_from_name(name);
    ASSERT_TRUE(type.has_value()) << name;
    EXPECT_EQ(dtype_name(*type), name);
  }
  for (const char* name : {"", "F8", "f32", "U16"}) EXPECT_FALSE(dtype_from_name(name)) << name;
}

}  // namespace
}  // namespace vig::test
