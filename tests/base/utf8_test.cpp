#include "vig/base/utf8.h"

#include <gtest/gtest.h>

namespace vig::test {
namespace {

TEST(Utf8, CharactersGoThereAndBack) {
  for (const char32_t code : {U'a', U'\u007f', U'\u0080', U'\u07ff', U'\u0800', U'\uffff',
                              U'\U00010000', U'\U0010ffff'}) {
    std::string bytes;
    append_utf8(bytes, code);
    std::string_view rest = bytes;
    EXPECT_EQ(take_character(rest), code);
    EXPECT_TRUE(rest.empty());
  }
}

TEST(Utf8, BrokenBytesComeOneByOne) {
  std::string_view text =
      "\xe6\xbc\xff"
      "a";
  EXPECT_EQ(take_character(text), std::nullopt);
  EXPECT_EQ(take_character(text), std::nullopt);
  EXPECT_EQ(take_character(text), std::nullopt);
  EXPECT_EQ(take_character(text), U'a');
}

TEST(Utf8, BeyondTheLastCharacterAreBrokenBytes) {
  std::string_view text = "\xf4\x8f\xbf\xbf\xf4\x90\x80\x80";
  EXPECT_EQ(take_character(text), U'\U0010ffff');
  for (int i = 0; i < 4; ++i) EXPECT_EQ(take_character(text), std::nullopt);
  EXPECT_TRUE(text.empty());
}

// Every character has one form, and halves of pairs (surrogates) are none.
TEST(Utf8, OtherFormsAreBrokenBytes) {
  for (const char* bad : {"\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80",
                          "\xed\xbf\xbf", "\xf5\x80\x80\x80", "\x80"}) {
    std::string_view text = bad;
    EXPECT_EQ(take_character(text), std::nullopt) << testing::PrintToString(bad);
    EXPECT_EQ(text, bad + 1);
  }
  std::string_view good = "\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80\xed\x9f\xbf\xee\x80\x80";
  for (const char32_t code : {0x80, 0x800, 0x10000, 0xd7ff, 0xe000}) {
    EXPECT_EQ(take_character(good), code);
  }
}

TEST(Utf8, BrokenBytesAreReplaced) {
  EXPECT_TRUE(is_utf8("") && is_utf8("Bär 漢字"));
  EXPECT_FALSE(is_utf8("a\xff") || is_utf8("\xc3") || is_utf8("\xed\xa0\x80"));
  EXPECT_EQ(as_utf8("Bär 漢字"), "Bär 漢字");
  EXPECT_EQ(as_utf8("a\xffz"), "a\ufffdz");
  EXPECT_EQ(as_utf8("\xe6\xbcz"), "\ufffdz") << "the beginning of one character";
  EXPECT_EQ(as_utf8("\xed\xa0\x80"), "\ufffd\ufffd\ufffd") << "no beginning of any";
}

TEST(Utf8, WidthOnATerminal) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("Bär"), 3u);
  EXPECT_EQ(display_width("e\u0301a\u0308"), 2u);  // combining acute and diaeresis
  EXPECT_EQ(display_width("漢字"), 4u);
  EXPECT_EQ(display_width("한글カナ"), 8u);
  EXPECT_EQ(display_width("ｱ"), 1u);   // half width
  EXPECT_EQ(display_width("Ａ"), 2u);  // full width
  EXPECT_EQ(display_width("🐈"), 2u);
  EXPECT_EQ(display_width("\u200bx"), 1u);
  EXPECT_EQ(display_width("\xff\xfe"), 2u);
}

}  // namespace
}  // namespace vig::test
