#include "vig/base/printable.h"

#include <gtest/gtest.h>

#include <vector>

namespace vig::test {
namespace {

TEST(Printable, OrdinaryTextStays) {
  for (const char* text : {"", "plain", "Bärenführer", "漢字", "e\u0301", "🐈", "a\\x1b"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
  }
}

TEST(Printable, WhatSteersATerminalIsEscaped) {
  EXPECT_EQ(printable("a\x1b[31mb\x7f\n\t"), "a\\x1b[31mb\\x7f\\x0a\\x09");
  EXPECT_EQ(printable("\u0080 \u009b31m \u009f \u00a0"),
            "\\xc2\\x80 \\xc2\\x9b31m \\xc2\\x9f \u00a0");
  EXPECT_EQ(printable("\u202e\u2066\u200e\u2028"),
            "\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xe2\\x80\\x8e\\xe2\\x80\\xa8");
  EXPECT_EQ(printable("\u061c\u200f\u2069"), "\\xd8\\x9c\\xe2\\x80\\x8f\\xe2\\x81\\xa9");
  // The neighbours of every range.
  for (const char* text :
       {" ~", "\u00a0", "\u061b\u061d", "\u200d\u2010", "\u2027\u202f", "\u2065\u206a"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, BytesThatAreNoUtf8AreEscaped) {
  EXPECT_EQ(printable("\x9b"), "\\x9b");                    // C1 as terminals of one byte take it
  EXPECT_EQ(printable("caf\xe9!"), "caf\\xe9!");            // Latin-1
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable("\xe6\xbc"), "\\xe6\\xbc");           // cut
}

TEST(Printable, LongNamesAreCutBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef...");
  EXPECT_EQ(printable("漢字漢字", 7), "漢字...");
  EXPECT_EQ(printable(std::string(120, 'x')), std::string(120, 'x'));
  EXPECT_EQ(printable(std::string(121, 'x')), std::string(120, 'x') + "...");
}

TEST(Printable, LinesStay) {
  EXPECT_EQ(printable_lines("a\nb\u009bc\r\n"), "a\nb\\xc2\\x9bc\\x0d\n");
  // Also where all of it is ASCII, and however long it is.
  EXPECT_EQ(printable_lines("a~\n\x7f"), "a~\n\\x7f");
  EXPECT_EQ(printable_lines("\x1f"), "\\x1f");
  EXPECT_EQ(printable_lines(std::string(1000, 'x') + "\x1b"), std::string(1000, 'x') + "\\x1b");
}

TEST(Printable, Lists) {
  const std::vector<std::string> names = {"ant", "b\x1b", "cat"};
  EXPECT_EQ(printable_list(names, 3), "ant, b\\x1b, cat");
  EXPECT_EQ(printable_list(names, 1), "ant and 2 more");
  const std::vector<std::string> large = {std::string(41, 'x'), "b"};
  EXPECT_EQ(printable_list(large, 5), std::string(40, 'x') + "..., b");
}

}  // namespace
}  // namespace vig::test
