#include "vig/weights/strict_json.h"

#include <string>

#include "support/errors.h"

namespace vig::test {
namespace {

std::string json_refusal(const std::string& text, const JsonLimits& limits = {}) {
  return error_of([&] { parse_strict_json("FILE", text, limits); });
}

TEST(StrictJson, IsJson) {
  const auto value = parse_strict_json("FILE", R"({"a": [1, {"a": null}], "b": {"a": "x"}})");
  EXPECT_EQ(value["a"][0], 1);
  EXPECT_EQ(value["b"]["a"], "x");
}

TEST(StrictJson, SaysEverythingOnce) {
  EXPECT_EQ(json_refusal(R"({"a": 1, "b": 2, "a": 1})"), "FILE: gives \"a\" twice");
  EXPECT_EQ(json_refusal(R"([{"b": {"a": 1, "\u0061": 2}}])"), "FILE: gives \"a\" twice");
  // Once in each of two objects, and again after an inner one has ended.
  parse_strict_json("FILE", R"([{"a": {"b": 1}, "c": 1}, {"a": {"b": 1}, "c": 1}])");
  EXPECT_EQ(json_refusal(R"({"a": {"b": 1}, "a": 1})"), "FILE: gives \"a\" twice");
}

TEST(StrictJson, HasLimits) {
  EXPECT_EQ(json_refusal("[1, 2]", {.bytes = 5, .depth = 4}),
            "FILE: expected at most 5 bytes (a fixed limit), found 6");
  const std::string sentence =
      "FILE: expected JSON of at most 2 levels (a fixed limit), found more";
  parse_strict_json("FILE", "[[1]]", {.bytes = 100, .depth = 2});
  EXPECT_EQ(json_refusal("[[[1]]]", {.bytes = 100, .depth = 2}), sentence);
  EXPECT_EQ(json_refusal(R"({"a":{"b":{"c":1}}})", {.bytes = 100, .depth = 2}), sentence);
  EXPECT_EQ(json_refusal(std::string(1'000'000, '['), {.bytes = 2'000'000, .depth = 2}), sentence);
}

TEST(StrictJson, IsNothingElse) {
  for (const char* text : {"", "{", "[1,]", "{\"a\"}", "\"\xff\"", "nul", "1 2", "1e999999"}) {
    SCOPED_TRACE(text);
    EXPECT_TRUE(json_refusal(text).starts_with("FILE: expected JSON, found \""));
  }
}

}  // namespace
}  // namespace vig::test
