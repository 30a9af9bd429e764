#include "vig/tasks/svg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "support/xml.h"

namespace vig::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

int count(const std::string& text, const std::string& what) {
  int found = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++found;
  return found;
}

void expect_drawing(const std::string& svg) {
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"")) << svg.substr(0, 80);
  for (const char* bad : {"nan", "inf", "href", "script"}) EXPECT_EQ(count(svg, bad), 0) << bad;
}

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

TEST(LineChart, ShowsTitlesNamesAndNumbers) {
  const ChartPanel panels[] = {{"loss", {{"train", {{1, 2.3}, {2, 1.1}, {3, 0.4}}}}},
                               {"accuracy <%>", {{"a & b", {{1, 10}, {2, 55}, {3, 90}}}}}};
  const std::string svg = line_chart_svg("run \"one\"", "epoch", panels);
  expect_drawing(svg);
  for (const char* text :
       {">run &quot;one&quot;<", ">epoch<", ">loss<", ">accuracy &lt;%&gt;<", ">train<",
        ">a &amp; b<", ">0.5<", ">2.5<", ">100<", ">60<", ">1<", ">2<", ">3<"}) {
    EXPECT_EQ(count(svg, text), 1) << text << "\n" << svg;
  }
  EXPECT_EQ(count(svg, "stroke-width=\"1.6\""), 2);  // the two curves
}

// The axes of a panel of 560 x 220 at (76, 44) end with the values.
TEST(LineChart, PointsLieWhereTheirValuesAre) {
  const ChartPanel panels[] = {{"a", {{"s", {{0, 0}, {5, 100}, {10, 50}}}}},
                               {"b", {{"s", {{0, 2}, {10, 1}}}}}};
  const std::string svg = line_chart_svg("", "", panels);
  EXPECT_EQ(count(svg, "<path d=\"M76.0 264.0L356.0 44.0L636.0 154.0\""), 1) << svg;
  // The second panel lies below, with an axis of its own.
  EXPECT_EQ(count(svg, "<path d=\"M76.0 292.0L636.0 512.0\""), 1) << svg;
}

TEST(LineChart, MarksAPoint) {
  ChartPanel panel = {"y", {{"s", {{0, 0}, {10, 100}}}}};
  const auto marked = [&](double x, double y) {
    panel.mark = ChartMark{x, y, "<best>"};
    const std::string svg = line_chart_svg("", "", {&panel, 1});
    expect_drawing(svg);
    return svg;
  };
  const std::string left = marked(2, 100), right = marked(8, 0);
  EXPECT_EQ(count(left, "<circle cx=\"188.0\" cy=\"44.0\""), 1) << left;
  // The text stands above the panel, where there are neither curves nor numbers.
  EXPECT_EQ(count(left, "<text x=\"188.0\" y=\"37.0\" text-anchor=\"middle\""), 1) << left;
  EXPECT_EQ(count(right, "<circle cx=\"524.0\" cy=\"264.0\""), 1) << right;
  EXPECT_EQ(count(right, "<text x=\"524.0\" y=\"37.0\" text-anchor=\"middle\""), 1) << right;
  EXPECT_EQ(count(right, ">&lt;best&gt;<"), 1);
  // It keeps between the sides of the panel: half of six characters at 0.6 of 12 pixels.
  EXPECT_EQ(count(marked(0, 0), "<text x=\"97.6\" y=\"37.0\""), 1) << marked(0, 0);
  EXPECT_EQ(count(marked(10, 0), "<text x=\"614.4\" y=\"37.0\""), 1) << marked(10, 0);
  EXPECT_EQ(count(marked(2, kNan), "<circle"), 0);
  EXPECT_EQ(count(marked(kInfinity, 2), "<circle"), 0);
}

TEST(LineChart, ColoursRepeatAfterEightSeries) {
  ChartPanel panel = {"y", {}};
  for (double y = 0; y < 9; ++y) panel.series.push_back({"s", {{0, y}, {1, y}}});
  const std::string svg = line_chart_svg("", "", {&panel, 1});
  expect_drawing(svg);
  EXPECT_EQ(count(svg, "stroke=\"#1f5fa8\" stroke-width=\"1.6\""), 2);
  EXPECT_EQ(count(svg, "stroke=\"#555555\" stroke-width=\"1.6\""), 1);
}

TEST(LineChart, ANoteTakesAsManyLinesAsItNeeds) {
  const ChartPanel panel = {"y", {{"s", {{0, 1}, {1, 2}}}}};
  std::string note;
  for (int i = 0; i < 30; ++i) note += (i == 0 ? "" : " ") + std::string("ninebytes");
  const std::string svg = line_chart_svg("", "", {&panel, 1}, note);
  expect_drawing(svg);
  std::string line = "ninebytes";
  for (int i = 1; i < 10; ++i) line += " ninebytes";
  EXPECT_EQ(count(svg, ">" + line + "<"), 3) << svg;  // of at most 100 characters
  const std::string word(150, 'x');
  EXPECT_EQ(count(line_chart_svg("", "", {&panel, 1}, word + " end"), ">" + word + "<"), 1);
}

// Marks are round, cover the values, and are few, whatever the range.
TEST(LineChart, MarksAreRoundAndFew) {
  for (const double scale : {1e-12, 1e-5, 0.01, 0.37, 1.0, 7.0, 12345.0, 1e9, 1e200}) {
    for (const double offset : {0.0, -0.5, 10.0}) {
      SCOPED_TRACE(testing::Message() << scale << " " << offset);
      const ChartPanel panel = {"y", {{"s", {{0, scale * offset}, {1, scale * (offset + 1)}}}}};
      const std::string svg = line_chart_svg("", "", {&panel, 1});
      expect_drawing(svg);
      const std::regex mark("text-anchor=\"end\">([^<]+)<");
      std::vector<double> marks;
      for (std::sregex_iterator i(svg.begin(), svg.end(), mark), end; i != end; ++i) {
        marks.push_back(std::stod((*i)[1]));
      }
      ASSERT_GE(marks.size(), 3u);
      ASSERT_LE(marks.size(), 9u);
      EXPECT_LE(marks.front(), scale * offset + 1e-6 * scale);
      EXPECT_GE(marks.back(), scale * (offset + 1) - 1e-6 * scale);
      const double step = marks[1] - marks[0];
      const double digit = step / std::pow(10.0, std::floor(std::log10(step) + 1e-6));
      EXPECT_NEAR(std::min({std::abs(digit - 1), std::abs(digit - 2), std::abs(digit - 5)}), 0,
                  1e-4);
    }
  }
}

TEST(LineChart, DrawsOddSeries) {
  const std::vector<std::vector<std::pair<double, double>>> odd = {
      {},
      {{1, 5}},
      {{1, 5}, {2, 5}, {3, 5}},
      {{1, kNan}, {2, kInfinity}, {kNan, 3}},
      {{0, 0}, {0, 0}},
      {{1, 1e308}, {2, -1e308}},
      {{1, 1e16}, {2, 1e16 + 2}},
      {{-1e-300, 1e-300}, {1e-300, -1e-300}}};
  for (const auto& points : odd) {
    const ChartPanel panels[] = {{"a", {{"s", points}}}, {"b", {}}};
    expect_drawing(line_chart_svg("t", "x", panels));
  }
  expect_drawing(line_chart_svg("t", "x", {}));
}

// A curve that is flat lies between marks that tell its height.
TEST(LineChart, AFlatCurveHasItsValueInTheMiddle) {
  const ChartPanel panel = {"y", {{"s", {{0, 0.002}, {1, 0.002}}}}};
  const std::string svg = line_chart_svg("", "", {&panel, 1});
  for (const char* mark : {">0.0018<", ">0.0020<", ">0.0022<"})
    EXPECT_EQ(count(svg, mark), 1) << svg;
  EXPECT_EQ(count(svg, "<path d=\"M76.0 154.0L636.0 154.0\""), 1) << svg;
}

// Numbers beside the axis leave room for its label.
TEST(LineChart, SmallNumbersAreShort) {
  const ChartPanel panel = {"y", {{"s", {{0, 0}, {1, 2e-5}}}}};
  EXPECT_EQ(count(line_chart_svg("", "", {&panel, 1}), ">2e-05<"), 1);
}

TEST(LineChart, WhatIsNotFiniteIsAGap) {
  const ChartPanel panel = {
      "y", {{"s", {{0, 1}, {1, 2}, {2, kNan}, {3, 4}, {4, kInfinity}, {5, 2}, {6, 3}}}}};
  const std::string svg = line_chart_svg("", "", {&panel, 1});
  EXPECT_EQ(count(svg, "stroke-width=\"1.6\""), 2);
  EXPECT_EQ(count(svg, "<circle"), 1);
}

}  // namespace
}  // namespace vig::test
