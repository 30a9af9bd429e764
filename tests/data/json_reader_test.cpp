// JSON value by value: what is read, and what is no JSON.
#include "vig/data/json_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "support/errors.h"

namespace vig::test {
namespace {

const std::string kWhere = "x.json";

std::string string_of(const std::string& text) {
  JsonReader json(kWhere, text);
  const std::string value = json.string("a name");
  json.end();
  return value;
}

double number_of(const std::string& text) {
  JsonReader json(kWhere, text);
  const double value = json.number("a side");
  json.end();
  return value;
}

int64_t whole_of(const std::string& text, int64_t least = std::numeric_limits<int64_t>::min(),
                 int64_t most = std::numeric_limits<int64_t>::max()) {
  JsonReader json(kWhere, text);
  const int64_t value = json.whole("a count", least, most);
  json.end();
  return value;
}

bool flag_of(const std::string& text) {
  JsonReader json(kWhere, text);
  const bool value = json.flag("a flag");
  json.end();
  return value;
}

void skip_all(const std::string& text) {
  JsonReader json(kWhere, text);
  json.skip();
  json.end();
}

TEST(JsonReader, Strings) {
  EXPECT_EQ(string_of(R"( "plain, [text]" )"), "plain, [text]");
  EXPECT_EQ(string_of(R"("")"), "");
  EXPECT_EQ(string_of(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(string_of(R"("\u0041\u00e4\u20AC.")"), "A\xc3\xa4\xe2\x82\xac.");
  EXPECT_EQ(string_of(R"("\u0000")"), std::string(1, '\0'));
  EXPECT_EQ(string_of(R"("<\ud83d\uDE00>")"), "<\xf0\x9f\x98\x80>");
  EXPECT_EQ(string_of(R"("\ud800\udc00\udbff\udfff")"), "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
  EXPECT_EQ(string_of("\"caf\xc3\xa9\""), "caf\xc3\xa9");
}

TEST(JsonReader, StringsThatAreNone) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"7", "expected a name at byte 0, found \"7\""},
           {R"("a)", "the end of a string"},
           {R"("a\)", "the end of a string"},
           {R"("a\")", "the end of a string"},
           {"\"a\nb\"", "without control characters at byte 2"},
           {"\"\x1f\"", "without control characters at byte 1"},
           {R"("\x41")", "a known escape"},
           {R"("\u12")", "four hexadecimal digits"},
           {R"("\u12g4")", "four hexadecimal digits"},
           {R"("\ud83d")", "a pair of surrogates"},
           {R"("\ud83d.")", "a pair of surrogates"},
           {R"("\ud83d\u0041")", "a pair of surrogates"},
           {R"("\ud83d\ud83d")", "a pair of surrogates"},
           {R"("\ude00")", "a pair of surrogates"},
           {"\"\xff\"", "UTF-8"}}) {
    expect_error(ErrorCode::kInput, {kWhere + ": ", words}, [&, &text = text] { string_of(text); });
  }
}

TEST(JsonReader, Numbers) {
  EXPECT_EQ(number_of("0"), 0.0);
  EXPECT_EQ(number_of("-12.5"), -12.5);
  EXPECT_EQ(number_of("-0.5e-1"), -0.05);
  EXPECT_EQ(number_of("1E+2"), 100.0);
  EXPECT_EQ(number_of("1." + std::string(398, '0')), 1.0) << "400 characters";
  for (const std::string text :
       {"", "-", "+1", ".5", "1.", "1.e3", "1e", "1e+", "01", "-01", "0x10", "NaN", "Infinity",
        "1e999", "-1e999", "\"1\"", "1,5", "1 2"}) {
    expect_error(ErrorCode::kInput, {kWhere + ": "}, [&] { number_of(text); });
  }
  expect_error(ErrorCode::kInput, {"a number of 401 characters at byte 0"},
               [] { number_of(std::string(401, '1')); });
}

TEST(JsonReader, WholeNumbers) {
  EXPECT_EQ(whole_of("17"), 17);
  EXPECT_EQ(whole_of("17.0"), 17);
  EXPECT_EQ(whole_of("-1e3"), -1000);
  EXPECT_EQ(whole_of("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(whole_of("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(whole_of("9007199254740993"), 9007199254740993);
  EXPECT_EQ(whole_of("9007199254740992.0"), 9007199254740992);
  EXPECT_EQ(whole_of("3", 3, 3), 3);
  for (const std::string text : {"9223372036854775808", "9007199254740994.0", "1.5", "1e300"}) {
    expect_error(ErrorCode::kInput, {"a count, a whole number from ", "found " + text},
                 [&] { whole_of(text); });
  }
  for (const std::string text : {"1", "5", "1.0", "5e0"}) {
    expect_error(ErrorCode::kInput, {"a whole number from 2 to 4"}, [&] { whole_of(text, 2, 4); });
  }
}

TEST(JsonReader, Flags) {
  for (const char* text : {"true", "1", "1.0"}) EXPECT_TRUE(flag_of(text)) << text;
  for (const char* text : {"false", "0", " 0.0 "}) EXPECT_FALSE(flag_of(text)) << text;
  for (const char* text : {"2", "-1", "\"true\"", "null", "True", "truely"}) {
    EXPECT_FALSE(survives([&] { flag_of(text); })) << text;
  }
}

TEST(JsonReader, WhatIsSkippedMustBeJson) {
  for (const std::string text :
       {"[]", "{}", "null", "\"x\"", " [ 1 , {\"a\" : [ true , null ] , \"b\" : {} } , \"]\" ] \n",
        "[[[]],[{}]]"}) {
    EXPECT_TRUE(survives([&] { skip_all(text); })) << text;
  }
  for (const std::string text : {"",          "]",        "}",          "[1,]",
                                 "[,1]",      "[,]",      "[1 2]",      "[1",
                                 "[1}",       "[[1]",     "{\"a\":1,}", "{,}",
                                 "{\"a\" 1}", "{\"a\":}", "{a:1}",      "{\"a\":1 \"b\":2}",
                                 "{\"a\":1",  "{\"a\"",   "{1:2}",      "tru",
                                 "nul",       "fals",     "nullnull",   "1 1",
                                 "[] []",     "[01]",     "[\"\n\"]"}) {
    EXPECT_FALSE(survives([&] { skip_all(text); })) << text;
  }
}

TEST(JsonReader, ThirtyTwoLevelsAndNoMore) {
  const auto nested = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  static_assert(JsonReader::kMaxDepth == 32);
  EXPECT_TRUE(survives([&] { skip_all(nested(32)); }));
  expect_error(ErrorCode::kInput, {kWhere, "at most 32 levels"}, [&] { skip_all(nested(33)); });
  // Levels that are left count no more.
  std::string many = "[";
  for (int i = 0; i < 40; ++i) many += std::string(i > 0 ? "," : "") + "[{}]";
  EXPECT_TRUE(survives([&] { skip_all(many + "]"); }));
}

TEST(JsonReader, FieldsOfObjects) {
  constexpr std::array<std::string_view, 2> kKnown = {"a", "b"};
  const auto fields = [&](const std::string& text) {
    JsonReader json(kWhere, text);
    uint32_t seen = 0;
    std::array<int64_t, 2> values = {0, 0};
    json.begin_object("an object");
    for (size_t field; (field = json.next_field(kKnown, seen)) < kKnown.size();) {
      values.at(field) = json.whole("a count", 0, 9);
    }
    json.end();
    return std::pair(values, seen);
  };
  using Values = std::array<int64_t, 2>;
  EXPECT_EQ(fields(R"({"a":1,"b":2})"), std::pair(Values{1, 2}, 3u));
  EXPECT_EQ(fields(R"( { "c" : [ {"a":7} ] , "b" : 2 , "ab" : null } )"),
            std::pair(Values{0, 2}, 2u));
  EXPECT_EQ(fields(R"({"\u0061":5})"), std::pair(Values{0, 0}, 0u)) << "names are without escapes";
  EXPECT_EQ(fields("{}"), std::pair(Values{0, 0}, 0u));
  for (const std::string text :
       {R"({"a":1,})", R"({,"a":1})", R"({"a":1 "b":2})", R"({"a" 1})", R"({"a":1)", R"({"a":1]})",
        R"([])", R"({"a":1}})", R"({"c":1,})", R"({"a":1,"a":1})"}) {
    EXPECT_FALSE(survives([&] { fields(text); })) << text;
  }
}

TEST(JsonReader, ItemsOfLists) {
  const auto items = [](const std::string& text) {
    JsonReader json(kWhere, text);
    std::vector<int64_t> values;
    json.begin_array("a list");
    while (json.next_item()) values.push_back(json.whole("a count", 0, 9));
    json.end();
    return values;
  };
  EXPECT_EQ(items("[]"), std::vector<int64_t>());
  EXPECT_EQ(items(" [ 1 , 2,3 ] "), (std::vector<int64_t>{1, 2, 3}));
  for (const std::string text : {"[1,]", "[,1]", "[1 2]", "[1", "[1,", "{}", "[1]]", "[1}"}) {
    EXPECT_FALSE(survives([&] { items(text); })) << text;
  }
}

// As annotations are, whose masks are read where they are asked for.
TEST(JsonReader, ReadingMayStartInside) {
  const std::string text = R"({"a": [7, 8]})";
  JsonReader json(kWhere, text, text.find('['));
  EXPECT_EQ(json.peek(), JsonReader::Kind::kArray);
  EXPECT_EQ(json.position(), 6u);
  json.begin_array("a list");
  ASSERT_TRUE(json.next_item());
  EXPECT_EQ(json.whole("a count", 0, 9), 7);
}

}  // namespace
}  // namespace vig::test
