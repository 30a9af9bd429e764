// What a chart must show, whatever it looks like.
#include "vig/tasks/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "support/xml.h"

namespace vig::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::vector<std::string> found(const std::string& svg, const char* pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> all;
  for (std::sregex_iterator match(svg.begin(), svg.end(), regex), end; match != end; ++match) {
    all.push_back((*match)[1]);
  }
  return all;
}

void expect_drawing(const std::string& svg) {
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"")) << svg.substr(0, 80);
  for (const char* bad : {"nan", "inf", "href", "<script", "url(", "@import"}) {
    EXPECT_EQ(count(svg, bad), 0u) << bad;
  }
}

// One panel of linear axes, 300 x 260 without room beside the points: their frame.
std::string one_panel(const std::vector<std::pair<double, double>>& points) {
  Chart chart;
  chart.panels = {{.title = "y", .x = {}, .y = {}, .series = {{"s", points}}}};
  const std::string svg = chart_svg(chart);
  expect_drawing(svg);
  return svg;
}

Chart sample() {
  Chart chart;
  chart.title = "Cost & <size>";
  chart.subtitle = "on a machine";
  ChartPanel panel;
  panel.title = "Time";
  panel.x = {.label = "side", .scale = AxisScale::kLog, .ticks = {224, 512, 1024}};
  panel.y = {.label = "", .scale = AxisScale::kLog, .ticks = {}, .unit = "s", .prefixes = true};
  panel.series = {{"ours", {{224, 0.01}, {512, 0.04}, {1024, 0.2}}, 0, true, false},
                  {"theirs", {{224, 0.02}, {512, 0.2}, {1024, 9}}, 1, false, true}};
  panel.gaps = {{1024, 9, 0.2, "45x", {"vs. a < b"}}};
  chart.panels = {panel, panel};
  chart.note = "a note";
  return chart;
}

TEST(Chart, ShowsEveryPointAndLabel) {
  const std::string svg = chart_svg(sample());
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_EQ(count(svg, "<circle "), 2u * 6);
  EXPECT_EQ(count(svg, ">45x<"), 2u);
  EXPECT_EQ(count(svg, ">vs. a &lt; b<"), 2u) << "what the factor compares";
  // One legend for both panels; besides, the points' titles name their curve.
  EXPECT_EQ(count(svg, ">ours</text>"), 1u);
  EXPECT_EQ(count(svg, ">theirs</text>"), 1u);
  for (const char* text : {"Cost &amp; &lt;size&gt;", "on a machine", ">Time<", ">side<", "a note",
                           ">224<", ">1024<", ">10 ms<", ">100 ms<", ">1 s<", ">10 s<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(count(svg, "stroke-dasharray=\"6 4\""), 3u) << "two curves and the legend";
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
  for (const char* outside : {"<script", "url(", "@import", "href"}) {
    EXPECT_EQ(svg.find(outside), std::string::npos) << outside;
  }
}

TEST(Chart, ALegendForEachPanel) {
  Chart chart = sample();
  chart.layout = ChartLayout::kRowLegends;
  chart.panels[1].series.pop_back();
  const std::string svg = chart_svg(chart);
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_EQ(count(svg, ">ours</text>"), 2u);
  EXPECT_EQ(count(svg, ">theirs</text>"), 1u);
}

// Larger values lie higher, and equal ratios of a logarithmic axis are equal distances.
TEST(Chart, LogarithmicAxes) {
  Chart chart = sample();
  chart.panels.resize(1);
  chart.panels[0].gaps.clear();
  chart.panels[0].series = {{"one", {{1, 1}, {10, 10}, {100, 100}}}};
  chart.panels[0].x.ticks = {};
  const std::string svg = chart_svg(chart);
  const std::regex circle("<circle cx=\"([0-9.]+)\" cy=\"([0-9.]+)\"");
  std::vector<std::pair<double, double>> points;
  for (std::sregex_iterator match(svg.begin(), svg.end(), circle), end; match != end; ++match) {
    points.emplace_back(std::stod((*match)[1]), std::stod((*match)[2]));
  }
  ASSERT_EQ(points.size(), 3u);
  EXPECT_GT(points[1].first, points[0].first);
  EXPECT_LT(points[1].second, points[0].second);
  EXPECT_NEAR(points[1].first - points[0].first, points[2].first - points[1].first, 0.11);
  EXPECT_NEAR(points[1].second - points[0].second, points[2].second - points[1].second, 0.11);
}

TEST(Chart, WhatCannotBeDrawnIsAGap) {
  Chart chart = sample();
  chart.panels.resize(1);
  chart.panels[0].series = {{"one", {{224, 1}, {300, kNan}, {512, 0}, {700, -1}, {1024, 2}}}};
  chart.panels[0].gaps = {{1024, kNan, 1, "45x"}};
  std::string svg = chart_svg(chart);
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_EQ(count(svg, "<circle "), 2u);
  EXPECT_EQ(svg.find("45x"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  chart.panels[0].series.clear();
  svg = chart_svg(chart);
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Chart, TicksHavePrefixes) {
  const auto ticks = [](std::vector<double> values, const std::string& unit) {
    Chart chart;
    ChartPanel panel;
    panel.y = {
        .label = "", .scale = AxisScale::kLog, .ticks = values, .unit = unit, .prefixes = true};
    panel.series = {{"one", {{1, values.front()}, {2, values.back()}}}};
    chart.panels = {panel};
    const std::string svg = chart_svg(chart);
    EXPECT_EQ(xml_problem(svg), "");
    std::string found;
    const std::regex label("text-anchor=\"end\">([^<]*)<");
    for (std::sregex_iterator match(svg.begin(), svg.end(), label), end; match != end; ++match) {
      found += (*match)[1].str() + "|";
    }
    return found;
  };
  EXPECT_EQ(ticks({1, 999, 1e3, 2.5e6, 1e9, 5e12}, ""), "1|999|1 k|2.5 M|1 G|5 T|");
  EXPECT_EQ(ticks({2e-6, 1e-3, 0.5, 1, 60}, "s"), "2 \u00b5s|1 ms|500 ms|1 s|60 s|");
}

// Of one name is one colour, in all panels; a colour of its own comes before the place.
TEST(Chart, ColoursBelongToNames) {
  Chart chart;
  ChartPanel panel;
  panel.series = {{"first", {{1, 1}, {2, 2}}}, {"second", {{1, 2}, {2, 3}}}};
  chart.panels = {panel, panel};
  std::swap(chart.panels[1].series[0], chart.panels[1].series[1]);
  std::string svg = chart_svg(chart);
  // Two panels, each a line and two points, and the legend.
  EXPECT_EQ(count(svg, "\"#d9442b\""), 2u * 3 + 1);
  EXPECT_EQ(count(svg, "\"#3b7dd8\""), 2u * 3 + 1);
  for (ChartPanel& each : chart.panels) {
    for (ChartSeries& series : each.series) series.colour = series.name == "first" ? 12 : 2;
  }
  svg = chart_svg(chart);
  EXPECT_EQ(count(svg, "\"#2f9e63\""), 2u * (2 * 3 + 1)) << "the palette begins again after ten";
}

// A curve without height still has an axis of some, and is drawn in its middle.
TEST(Chart, AFlatCurveHasAnAxis) {
  for (const AxisScale scale : {AxisScale::kLinear, AxisScale::kLog}) {
    Chart chart;
    ChartPanel panel;
    panel.y.scale = scale;
    panel.series = {{"flat", {{1, 5}, {2, 5}, {3, 5}}}};
    chart.panels = {panel};
    const std::string svg = chart_svg(chart);
    EXPECT_EQ(count(svg, "<circle "), 3u);
    for (const char* bad : {"nan", "inf"}) EXPECT_EQ(svg.find(bad), std::string::npos) << bad;
  }
}

TEST(Chart, LinearAxesEndAtRoundNumbers) {
  Chart chart = sample();
  chart.panels.resize(1);
  chart.panels[0].gaps.clear();
  chart.panels[0].y = {.label = "", .scale = AxisScale::kLinear, .ticks = {}, .unit = "%"};
  chart.panels[0].series = {{"accuracy", {{224, 61.5}, {512, 78.25}}}};
  const std::string svg = chart_svg(chart);
  for (const char* tick : {">60 %<", ">65 %<", ">80 %<"}) {
    EXPECT_NE(svg.find(tick), std::string::npos) << tick << svg;
  }
}

Chart stack(std::vector<ChartPanel> panels) {
  Chart chart{.title = "run \"one\"", .panels = std::move(panels)};
  chart.layout = ChartLayout::kStack;
  chart.panel_width = 588;  // points lie 14 inside of the frame
  chart.panel_height = 220;
  return chart;
}

TEST(ChartStack, HasALegendBesideEachPanelAndOneAxisBelow) {
  const std::string svg = chart_svg(
      stack({{.title = "loss",
              .x = {.label = "epoch"},
              .y = {},
              .series = {{"train", {{1, 2.3}, {2, 1.1}, {3, 0.4}}}}},
             {.title = "accuracy <%>",
              .x = {.label = "epoch"},
              .y = {},
              .series = {{"a & b", {{1, 10}, {2, 55}, {3, 90}}}, {"c", {{1, 20}, {2, 20}}}}}}));
  expect_drawing(svg);
  for (const char* text : {">run &quot;one&quot;<", ">epoch<", ">loss<", ">accuracy &lt;%&gt;<",
                           ">train</text>", ">a &amp; b</text>", ">c</text>", ">0.5<", ">2.5<",
                           ">100<", ">60<", "middle\">1<", "middle\">2<", "middle\">3<"}) {
    EXPECT_EQ(count(svg, text), 1u) << text << "\n" << svg;
  }
  // Entries stand below each other, right of the frame.
  EXPECT_EQ(found(svg, "<text class=\"ink\" x=\"719.0\" y=\"([0-9.]+)\"").size(), 3u) << svg;
}

// The panels lie at (86, 78) and (86, 334) and share the range of x; each has its own of y.
TEST(ChartStack, PointsLieWhereTheirValuesAre) {
  const std::string svg =
      chart_svg(stack({{.title = "a", .x = {}, .y = {}, .series = {{"s", {{0, 0}, {5, 100}}}}},
                       {.title = "b", .x = {}, .y = {}, .series = {{"s", {{0, 2}, {10, 1}}}}}}));
  EXPECT_EQ(count(svg, "<path d=\"M100.0 298.0L380.0 78.0\""), 1u) << svg;
  EXPECT_EQ(count(svg, "<path d=\"M100.0 334.0L660.0 554.0\""), 1u) << svg;
}

TEST(ChartStack, PanelsMayHaveOtherHeights) {
  const std::string svg = chart_svg(
      stack({{.title = "a", .x = {}, .y = {}, .series = {{"s", {{0, 0}, {10, 1}}}}, .height = 110},
             {.title = "b", .x = {}, .y = {}, .series = {{"s", {{0, 2}, {10, 1}}}}}}));
  EXPECT_EQ(count(svg, "<path d=\"M100.0 188.0L660.0 78.0\""), 1u) << svg;
  EXPECT_EQ(count(svg, "<path d=\"M100.0 224.0L660.0 444.0\""), 1u) << svg;
}

TEST(Chart, MarksAPoint) {
  Chart chart = stack({{.title = "", .x = {}, .y = {}, .series = {{"s", {{0, 0}, {10, 100}}}}}});
  const auto marked = [&](double x, double y) {
    chart.panels[0].mark = ChartMark{x, y, "<best>"};
    const std::string svg = chart_svg(chart);
    expect_drawing(svg);
    return svg;
  };
  const auto text = [](const std::string& svg) {
    return found(svg, "x=\"([0-9.]+)\" y=\"68.0\" text-anchor=\"middle\">&lt;best&gt;<");
  };
  using Positions = std::vector<std::string>;
  const std::string left = marked(2, 100), right = marked(8, 0);
  EXPECT_EQ(count(left, "<circle class=\"page frame\" cx=\"212.0\" cy=\"78.0\""), 1u) << left;
  EXPECT_EQ(count(right, "<circle class=\"page frame\" cx=\"548.0\" cy=\"298.0\""), 1u) << right;
  // The text stands above the panel, where there are neither curves nor numbers.
  EXPECT_EQ(text(left), Positions{"212.0"}) << left;
  EXPECT_EQ(text(right), Positions{"548.0"}) << right;
  // It keeps between the sides of the panel, by half of six characters at 0.54 of 12 pixels.
  EXPECT_EQ(text(marked(0, 0)), Positions{"105.4"});
  EXPECT_EQ(text(marked(10, 0)), Positions{"654.6"});
  // Nor does it touch the title: ten characters at 0.6 of 13 pixels, and ten more.
  chart.panels[0].title = "0123456789";
  EXPECT_EQ(text(marked(1, 0)), Positions{"193.4"});
  EXPECT_EQ(count(marked(2, kNan), "page frame"), 0u);
  EXPECT_EQ(count(marked(kInfinity, 2), "page frame"), 0u);
}

TEST(Chart, ManyPointsAreACurveWithoutDots) {
  std::vector<std::pair<double, double>> points;
  for (double x = 0; x < 25; ++x) points.emplace_back(x, x * x);
  EXPECT_EQ(count(one_panel(points), "<circle"), 25u);
  points.emplace_back(25, 625);
  EXPECT_EQ(count(one_panel(points), "<circle"), 0u);
  points[0].second = points[2].second = kNan;  // the second is alone
  EXPECT_EQ(count(one_panel(points), "<circle"), 1u);
}

TEST(Chart, ColoursRepeatAfterTenSeries) {
  Chart chart;
  chart.panels = {{.title = "y", .x = {}, .y = {}, .series = {}}};
  for (int y = 0; y < 11; ++y) {
    chart.panels[0].series.push_back({std::to_string(y), {{0, y}, {1, y}}});
  }
  const std::string svg = chart_svg(chart);
  expect_drawing(svg);
  EXPECT_EQ(count(svg, "fill=\"none\" stroke=\"#d9442b\" stroke-width=\"1.9\" stroke-line"), 2u);
  EXPECT_EQ(count(svg, "fill=\"none\" stroke=\"#5a6fd0\" stroke-width=\"1.9\" stroke-line"), 1u);
}

TEST(Chart, ANoteTakesAsManyLinesAsItNeeds) {
  Chart chart{.title = ""};
  chart.panels = {{.title = "y", .x = {}, .y = {}, .series = {{"s", {{0, 1}, {1, 2}}}}}};
  chart.panel_width = 588;
  for (int i = 0; i < 30; ++i) chart.note += (i == 0 ? "" : " ") + std::string("ninebytes");
  std::string svg = chart_svg(chart);
  expect_drawing(svg);
  std::string line = "ninebytes";  // 104 characters of 6.2 pixels in a width of 650
  for (int i = 1; i < 10; ++i) line += " ninebytes";
  EXPECT_EQ(count(svg, ">" + line + "<"), 3u) << svg;
  const std::string word(150, 'x');
  chart.note = word + " end";
  svg = chart_svg(chart);
  EXPECT_EQ(count(svg, ">" + word + "<"), 1u) << svg;
  EXPECT_EQ(count(svg, ">end<"), 1u) << svg;
}

// Ticks are round, cover the values, and are few, whatever the range.
TEST(Chart, TicksAreRoundAndFew) {
  for (const double scale : {1e-12, 1e-5, 0.01, 0.37, 1.0, 7.0, 12345.0, 1e9, 1e200}) {
    for (const double offset : {0.0, -0.5, 10.0, 1000.0}) {
      SCOPED_TRACE(testing::Message() << scale << " " << offset);
      const std::string svg = one_panel({{0, scale * offset}, {1, scale * (offset + 1)}});
      std::vector<double> ticks;
      for (const std::string& text : found(svg, "text-anchor=\"end\">([^<]+)<")) {
        ticks.push_back(std::stod(text));
      }
      ASSERT_GE(ticks.size(), 3u);
      ASSERT_LE(ticks.size(), 7u);
      EXPECT_LE(ticks.front(), scale * offset + 1e-6 * scale);
      EXPECT_GE(ticks.back(), scale * (offset + 1) - 1e-6 * scale);
      const double step = ticks[1] - ticks[0];
      const double digit = step / std::pow(10.0, std::floor(std::log10(step) + 1e-6));
      EXPECT_NEAR(std::min({std::abs(digit - 1), std::abs(digit - 2), std::abs(digit - 5)}), 0,
                  1e-4);
    }
  }
}

TEST(Chart, DrawsOddSeries) {
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
    one_panel(points);
    expect_drawing(chart_svg(stack({{.title = "a", .x = {}, .y = {}, .series = {{"s", points}}},
                                    {.title = "b", .x = {}, .y = {}, .series = {}}})));
  }
  expect_drawing(chart_svg(stack({})));
  expect_drawing(chart_svg({.title = ""}));
}

// A curve that is flat lies between ticks that tell its height.
TEST(Chart, AFlatCurveHasItsValueInTheMiddle) {
  const std::string svg = one_panel({{0, 0.002}, {1, 0.002}});
  EXPECT_EQ(found(svg, "text-anchor=\"end\">([^<]+)<"),
            (std::vector<std::string>{"0.0018", "0.0019", "0.002", "0.0021", "0.0022"}));
  const std::vector<std::string> heights = found(svg, "<circle cx=\"[0-9.]+\" cy=\"([0-9.]+)\"");
  const std::vector<std::string> frame =
      found(svg, "<path class=\"frame\" fill=\"none\" d=\"M86.0 ([0-9.]+)v260.0");
  ASSERT_EQ(frame.size(), 1u);
  ASSERT_EQ(heights.size(), 2u);
  EXPECT_NEAR(std::stod(heights[0]), std::stod(frame[0]) + 130, 0.11);
}

TEST(Chart, TicksAreShortAndToldApart) {
  EXPECT_EQ(count(one_panel({{0, 0}, {1, 2e-5}}), ">2e-05<"), 1u);
  EXPECT_EQ(count(one_panel({{0, 0}, {1, 20000}}), ">15000<"), 1u);
  EXPECT_EQ(found(one_panel({{0, 99.99}, {1, 99.994}}), "text-anchor=\"end\">([^<]+)<"),
            (std::vector<std::string>{"99.99", "99.991", "99.992", "99.993", "99.994"}));
  // Epochs are whole.
  EXPECT_EQ(found(one_panel({{1, 1}, {2, 1}, {3, 1}}), "text-anchor=\"middle\">([^<]+)<"),
            (std::vector<std::string>{"1", "2", "3"}));
}

}  // namespace
}  // namespace vig::test
