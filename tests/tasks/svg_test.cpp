#include "vig/tasks/svg.h"

#include <gtest/gtest.h>

#include <string>

#include "support/xml.h"

namespace vig::test {
namespace {

TEST(Xml, TheCheckerKnowsBadFromGood) {
  EXPECT_EQ(xml_problem("<a b=\"1\"><c/>x &amp; y</a>\n"), "");
  for (const char* bad : {"", "<a>", "</a>", "<a></b>", "<a b=1/>", "<a b=\"1\" b=\"2\"/>",
                          "<a/><a/>", "<a>&</a>", "<a>&nbsp;</a>", "<a b=\"<\"/>", "x<a/>",
                          "<a>\x01</a>", "<a>\xff</a>", "<a", "< a/>", "<a></a b=\"1\">"}) {
    EXPECT_NE(xml_problem(bad), "") << bad;
  }
}

TEST(SvgLabel, EscapesWhatXmlUses) {
  EXPECT_EQ(svg_label("a<b>&\"c'").xml, "a&lt;b&gt;&amp;&quot;c&#39;");
  EXPECT_EQ(svg_label("Käfer, 犬").xml, "Käfer, 犬");
  EXPECT_EQ(svg_label("").xml, "");
}

TEST(SvgLabel, ReplacesWhatXmlCannotHold) {
  const std::string instead = "\xef\xbf\xbd";
  for (const std::string bad :
       {"\x01", "\x1b", "\x7f", "\n", "\xff", "\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x90",
        "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xef\xbf\xbf"}) {
    const std::string xml = svg_label("a" + bad + "b").xml;
    EXPECT_EQ(xml.substr(0, 4), "a" + instead);
    EXPECT_EQ(xml.back(), 'b');
    EXPECT_EQ(xml_problem("<t>" + xml + "</t>"), "");
  }
  EXPECT_EQ(svg_label(std::string("a\0b", 3)).xml, "a" + instead + "b");
  std::string all;  // every byte after every byte
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) all += {static_cast<char>(a), static_cast<char>(b)};
  }
  EXPECT_EQ(xml_problem("<t>" + svg_label(all, all.size()).xml + "</t>"), "");
}

TEST(SvgLabel, CutsByCharacters) {
  EXPECT_EQ(svg_label("ääää", 4).xml, "ääää");
  EXPECT_EQ(svg_label("äääää", 4).xml, "äää…");
  EXPECT_EQ(svg_label("&&&&&", 3).xml, "&amp;&amp;…");
  EXPECT_LT(svg_label("abc").width, svg_label("abcd").width);
}

}  // namespace
}  // namespace vig::test
