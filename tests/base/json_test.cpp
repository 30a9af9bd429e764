// Our values and their text against those of nlohmann-json.
#include "vig/base/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "support/errors.h"

namespace vig::test {
namespace {

using nlohmann::ordered_json;

std::string theirs(const ordered_json& value, int indent = -1) {
  return value.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

TEST(Json, NumbersReadAsTheOtherLibraryWritesThem) {
  using Limits = std::numeric_limits<double>;
  for (const double value : {0.0,
                             -0.0,
                             1.0,
                             -1.0,
                             0.1,
                             -0.25,
                             1e-4,
                             1.5e-4,
                             1e-5,
                             1.25e-5,
                             100.0,
                             1e10,
                             123456789.0,
                             99999999999999.0,
                             1e15,
                             1.5e15,
                             1e16,
                             1.5e16,
                             1e20,
                             1e21,
                             1e22,
                             1e100,
                             1e-100,
                             0.30000000000000004,
                             3.141592653589793,
                             2.0 / 3,
                             5e-324,
                             2.5e-320,
                             Limits::min(),
                             Limits::max(),
                             Limits::lowest(),
                             Limits::epsilon(),
                             9007199254740992.0 * 4,
                             Limits::infinity(),
                             -Limits::infinity(),
                             Limits::quiet_NaN()}) {
    EXPECT_EQ(Json(value).dump(), theirs(value)) << value;
  }
  EXPECT_EQ(Json(0.1f).dump(), theirs(0.1f));
  EXPECT_EQ(Json(std::numeric_limits<float>::denorm_min()).dump(),
            theirs(std::numeric_limits<float>::denorm_min()));
}

// The other library's digits are not always the fewest, and it writes ".0" after, and exponents
// for, whole numbers that have more digits than 14.
TEST(Json, NumbersAreNeverLongerAndReadBackTheSame) {
  EXPECT_EQ(Json(-0.8007494).dump(), "-0.8007494");
  EXPECT_EQ(Json(123456789012345.0).dump(), "123456789012345");
  EXPECT_EQ(Json(1234567890123456.0).dump(), "1234567890123456");
  std::mt19937_64 random(7);
  int same = 0;
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i) {
    // Any bits, and the doubles that come of floats.
    double value = std::bit_cast<double>(random());
    if (i % 2 == 0) value = static_cast<double>(static_cast<float>(std::ldexp(value, 0)));
    if (i % 4 == 3) value = static_cast<double>(static_cast<int64_t>(random() >> (random() % 64)));
    if (!std::isfinite(value)) continue;
    const std::string text = Json(value).dump(), other = theirs(value);
    EXPECT_EQ(std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr)),
              std::bit_cast<uint64_t>(value))
        << text;
    EXPECT_LE(text.size(), other.size()) << text << " " << other;
    if (other.size() <= 16) {
      EXPECT_EQ(text, other);
    }
    same += text == other ? 1 : 0;
  }
  EXPECT_GT(same, kCount * 3 / 5);
}

TEST(Json, IntegersKeepAllTheirBits) {
  for (const int64_t value : {INT64_MIN, int64_t{-1}, int64_t{0}, INT64_MAX}) {
    EXPECT_EQ(Json(value).dump(), theirs(value));
    EXPECT_EQ(Json(value).get<int64_t>(), value);
  }
  EXPECT_EQ(Json(UINT64_MAX).dump(), theirs(UINT64_MAX));
  EXPECT_EQ(Json(uint8_t{200}).dump(), "200");
  EXPECT_EQ(Json(7u).dump(), "7");
  EXPECT_EQ(Json(true).dump(), "true");
  EXPECT_EQ(Json(false).dump(), "false");
  EXPECT_EQ(Json().dump(), "null");
}

TEST(Json, TextsAreEscapedAndMadeUtf8) {
  std::string control;
  for (char c = 0; c < 0x20; ++c) control += c;
  const std::string texts[] = {
      "",
      control + "\"\\/\x7f",
      "Zürich \u65e5\u672c \U0001f600 \u2028 \u202e",
      "\xff",
      "a\xffz",
      "\xc3",              // the first half of a character
      "\xe6\xbc",          // two thirds of one
      "\xe6\xbc\xff",      // and what is none
      "\xe6z",             // a third, and a letter
      "\xf0\x9f\x98",      // three quarters
      "\xf0\x9f\x98z",     //
      "\xf0\x80\x80\x80",  // longer than it need be
      "\xe0\x9f\xbf",      //
      "\xc1\xbf",          //
      "\xed\xa0\x80",      // half of a pair
      "\xf4\x90\x80\x80",  // beyond the last character
      "\xf5\x80\x80\x80",  //
      "\x80\xbf",          // ends without a beginning
  };
  for (const std::string& text : texts) {
    EXPECT_EQ(Json(text).dump(), theirs(text)) << text;
    EXPECT_EQ(Json({{text, 1}}).dump(), theirs({{text, 1}})) << text;
  }
  std::mt19937 random(3);
  const std::string bytes = "a\x80\xbf\xc2\xe0\xa0\xe6\xed\x9f\xf0\x90\xf4\x8f\xff";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int length = static_cast<int>(random() % 6); length >= 0; --length) {
      text += bytes[random() % bytes.size()];
    }
    ASSERT_EQ(Json(text).dump(), theirs(text)) << i;
  }
}

TEST(Json, LayoutIsTheOtherLibrarys) {
  const Json ours = {{"empty", Json::array()},
                     {"none", Json::object()},
                     {"list", Json::array({1, "two", nullptr, Json::array({Json::array()})})},
                     {"b", {{"z", true}, {"a", {{"deep", 0.5}}}}},
                     {"a", Json::array({{{"x", 1}}, {{"x", 2}}})}};
  const ordered_json other = {{"empty", ordered_json::array()},
                              {"none", ordered_json::object()},
                              {"list", {1, "two", nullptr, {ordered_json::array()}}},
                              {"b", {{"z", true}, {"a", {{"deep", 0.5}}}}},
                              {"a", {{{"x", 1}}, {{"x", 2}}}}};
  for (const int indent : {-1, 0, 1, 2, 4}) EXPECT_EQ(ours.dump(indent), theirs(other, indent));
  Json sorted = ours;
  sorted.sort_keys();
  EXPECT_EQ(sorted.dump(1), nlohmann::json::parse(theirs(other)).dump(1));
  EXPECT_EQ(Json::array().dump(2), "[]");
  EXPECT_EQ(Json::object().dump(2), "{}");
}

TEST(Json, BracesAreObjectsAndNothingIsGuessed) {
  EXPECT_EQ(Json({{"a", "b"}}).dump(), R"({"a":"b"})");
  EXPECT_EQ(Json({{"a", "b"}, {"c", "d"}}).dump(), R"({"a":"b","c":"d"})");
  EXPECT_EQ(Json::array({"a", "b"}).dump(), R"(["a","b"])");
  EXPECT_EQ(Json::array({Json::array({"a", "b"})}).dump(), R"([["a","b"]])");
  EXPECT_EQ(Json(std::vector<std::string>{"a", "b"}).dump(), R"(["a","b"])");
  EXPECT_EQ(Json(std::map<std::string, std::string>{{"b", "1"}, {"a", "2"}}).dump(),
            R"({"a":"2","b":"1"})");
  EXPECT_EQ(Json(std::string_view("x")).dump(), "\"x\"");
}

TEST(Json, GrowsByMembersAndElements) {
  Json value;
  value["b"]["c"] = 1;
  value["a"].push_back(2);
  value["a"].push_back({{"x", nullptr}});
  value["b"]["c"] = "changed";
  value["a"][0] = 3;
  EXPECT_EQ(value.dump(), R"({"b":{"c":"changed"},"a":[3,{"x":null}]})");
  EXPECT_TRUE(value.contains("a"));
  EXPECT_FALSE(value.contains("c"));
  EXPECT_FALSE(Json(1).contains("c"));
  EXPECT_EQ(value.size(), 2u);
  EXPECT_EQ(value["a"].size(), 2u);
  EXPECT_EQ(Json("text").size(), 0u);
  int sum = 0;
  for (const Json& element : Json::array({1, 2, 3})) sum += element.get<int>();
  EXPECT_EQ(sum, 6);
  std::string keys;
  for (const auto& [key, member] : value.items()) keys += key;
  EXPECT_EQ(keys, "ba");
  const Json copy = value;
  value.erase("b");
  value.erase("none");
  EXPECT_EQ(value.dump(), R"({"a":[3,{"x":null}]})");
  EXPECT_EQ(copy["b"]["c"], "changed");
}

TEST(Json, ValuesAreOfOneType) {
  EXPECT_TRUE(Json(1).is_integer() && Json(1).is_number() && !Json(1).is_float());
  EXPECT_TRUE(Json(1.0).is_float() && Json(1.0).is_number() && !Json(1.0).is_integer());
  EXPECT_TRUE(Json(true).is_bool() && !Json(true).is_number());
  EXPECT_TRUE(Json("").is_string() && Json().is_null());
  EXPECT_TRUE(Json::array().is_array() && Json::object().is_object());
  EXPECT_TRUE(Json(5).is_integer(5, 6) && Json(6u).is_integer(5, 6));
  EXPECT_FALSE(Json(4).is_integer(5, 6) || Json(7).is_integer(5, 6) || Json(5.0).is_integer(5, 6));
  EXPECT_FALSE(Json(UINT64_MAX).is_integer(INT64_MIN, INT64_MAX));
  EXPECT_EQ(Json(3).get<double>(), 3.0);
  EXPECT_EQ(Json(3.0).get<int>(), 3);
  EXPECT_EQ(Json(UINT64_MAX).get<double>(), 0x1p64);
}

TEST(Json, OtherTypesAreErrorsOfOneSentence) {
  EXPECT_EQ(error_of([] { Json("x").get<int>(); }),
            "expected a whole number of 64 bits, found \"x\"");
  EXPECT_EQ(error_of([] { Json(0.5).get<int64_t>(); }),
            "expected a whole number of 64 bits, found 0.5");
  EXPECT_EQ(error_of([] { Json(0x1p63).get<int64_t>(); }).find("expected a whole number"), 0u);
  EXPECT_EQ(error_of([] { Json(UINT64_MAX).get<int64_t>(); }).find("expected a whole number"), 0u);
  EXPECT_EQ(error_of([] { Json(int64_t{1} << 31).get<int>(); }),
            "expected a whole number of 32 bits, found 2147483648");
  EXPECT_EQ(error_of([] { Json().get<double>(); }), "expected a number, found null");
  EXPECT_EQ(error_of([] { Json(1).get<bool>(); }), "expected true or false, found 1");
  EXPECT_EQ(error_of([] { Json(1).get<std::string>(); }), "expected a text, found 1");
  EXPECT_EQ(error_of([] { Json(1).at("a"); }), "expected an object with \"a\", found 1");
  EXPECT_EQ(error_of([] {
              Json({{"b", 1}}).at("a");
            }),
            "expected an object with \"a\", found {\"b\":1}");
  EXPECT_EQ(error_of([] { Json::array({1}).at(1); }),
            "expected an array of more than 1 elements, found [1]");
  EXPECT_EQ(error_of([] { Json(1).elements(); }), "expected an array, found 1");
  EXPECT_EQ(error_of([] { Json(1).items(); }), "expected an object, found 1");
  EXPECT_EQ(error_of([] { Json(1).push_back(1); }), "expected an array, found 1");
  EXPECT_EQ(error_of([] { Json(1)["a"] = 1; }), "expected an object, found 1");
  EXPECT_THROW(Json().at("a"), JsonError);
}

TEST(Json, EqualIsWhatMeansTheSame) {
  EXPECT_EQ(Json(1), Json(1.0));
  EXPECT_EQ(Json(1), Json(1u));
  EXPECT_NE(Json(-1), Json(UINT64_MAX));
  EXPECT_NE(Json(1), Json(true));
  EXPECT_NE(Json("1"), Json(1));
  EXPECT_NE(Json("\xff"), Json("\xfe"));
  EXPECT_EQ(Json({{"a", 1}, {"b", 2}}), Json({{"b", 2}, {"a", 1}}));
  EXPECT_NE(Json({{"a", 1}}), Json({{"a", 1}, {"b", 2}}));
  EXPECT_NE(Json({{"a", 1}}), Json({{"b", 1}}));
  EXPECT_EQ(Json::array({1, "x"}), Json::array({1.0, "x"}));
  EXPECT_NE(Json::array({1, 2}), Json::array({2, 1}));
  EXPECT_NE(Json::array(), Json::object());
}

}  // namespace
}  // namespace vig::test
