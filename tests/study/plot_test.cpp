// What a plot must show, whatever it looks like.
#include "vig/study/plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "support/xml.h"

namespace vig::study {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Plot sample() {
  Plot plot;
  plot.title = "Cost & <size>";
  plot.subtitle = "on a machine";
  PlotPanel panel;
  panel.title = "Time";
  panel.x = {.label = "side", .scale = Scale::kLog, .ticks = {224, 512, 1024}};
  panel.y = {.label = "", .scale = Scale::kLog, .ticks = {}, .unit = "s", .prefixes = true};
  panel.series = {{"ours", {{224, 0.01}, {512, 0.04}, {1024, 0.2}}, 0, true, false},
                  {"theirs", {{224, 0.02}, {512, 0.2}, {1024, 9}}, 1, false, true}};
  panel.gaps = {{1024, 9, 0.2, "45x", {"vs. a < b"}}};
  plot.panels = {panel, panel};
  plot.note = "a note";
  return plot;
}

TEST(Plot, ShowsEveryPointAndLabel) {
  const std::string svg = plot_svg(sample());
  EXPECT_EQ(test::xml_problem(svg), "");
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

TEST(Plot, ALegendForEachPanel) {
  Plot plot = sample();
  plot.legend_per_panel = true;
  plot.panels[1].series.pop_back();
  const std::string svg = plot_svg(plot);
  EXPECT_EQ(test::xml_problem(svg), "");
  EXPECT_EQ(count(svg, ">ours</text>"), 2u);
  EXPECT_EQ(count(svg, ">theirs</text>"), 1u);
}

// Larger values lie higher, and equal ratios of a logarithmic axis are equal distances.
TEST(Plot, LogarithmicAxes) {
  Plot plot = sample();
  plot.panels.resize(1);
  plot.panels[0].gaps.clear();
  plot.panels[0].series = {{"one", {{1, 1}, {10, 10}, {100, 100}}}};
  plot.panels[0].x.ticks = {};
  const std::string svg = plot_svg(plot);
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

TEST(Plot, WhatCannotBeDrawnIsAGap) {
  Plot plot = sample();
  plot.panels.resize(1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  plot.panels[0].series = {{"one", {{224, 1}, {300, nan}, {512, 0}, {700, -1}, {1024, 2}}}};
  plot.panels[0].gaps = {{1024, nan, 1, "45x"}};
  std::string svg = plot_svg(plot);
  EXPECT_EQ(test::xml_problem(svg), "");
  EXPECT_EQ(count(svg, "<circle "), 2u);
  EXPECT_EQ(svg.find("45x"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  plot.panels[0].series.clear();
  svg = plot_svg(plot);
  EXPECT_EQ(test::xml_problem(svg), "");
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Plot, TicksHavePrefixes) {
  const auto ticks = [](std::vector<double> values, const std::string& unit) {
    Plot plot;
    PlotPanel panel;
    panel.y = {.label = "", .scale = Scale::kLog, .ticks = values, .unit = unit, .prefixes = true};
    panel.series = {{"one", {{1, values.front()}, {2, values.back()}}}};
    plot.panels = {panel};
    const std::string svg = plot_svg(plot);
    EXPECT_EQ(test::xml_problem(svg), "");
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
TEST(Plot, ColoursBelongToNames) {
  Plot plot;
  PlotPanel panel;
  panel.series = {{"first", {{1, 1}, {2, 2}}}, {"second", {{1, 2}, {2, 3}}}};
  plot.panels = {panel, panel};
  std::swap(plot.panels[1].series[0], plot.panels[1].series[1]);
  std::string svg = plot_svg(plot);
  // Two panels, each a line and two points, and the legend.
  EXPECT_EQ(count(svg, "\"#d9442b\""), 2u * 3 + 1);
  EXPECT_EQ(count(svg, "\"#3b7dd8\""), 2u * 3 + 1);
  for (PlotPanel& each : plot.panels) {
    for (PlotSeries& series : each.series) series.colour = series.name == "first" ? 12 : 2;
  }
  svg = plot_svg(plot);
  EXPECT_EQ(count(svg, "\"#2f9e63\""), 2u * (2 * 3 + 1)) << "the palette begins again after ten";
}

// A curve without height still has an axis of some, and is drawn in its middle.
TEST(Plot, AFlatCurveHasAnAxis) {
  for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
    Plot plot;
    PlotPanel panel;
    panel.y.scale = scale;
    panel.series = {{"flat", {{1, 5}, {2, 5}, {3, 5}}}};
    plot.panels = {panel};
    const std::string svg = plot_svg(plot);
    EXPECT_EQ(count(svg, "<circle "), 3u);
    for (const char* bad : {"nan", "inf"}) EXPECT_EQ(svg.find(bad), std::string::npos) << bad;
  }
}

TEST(Plot, LinearAxesEndAtRoundNumbers) {
  Plot plot = sample();
  plot.panels.resize(1);
  plot.panels[0].gaps.clear();
  plot.panels[0].y = {.label = "", .scale = Scale::kLinear, .ticks = {}, .unit = "%"};
  plot.panels[0].series = {{"accuracy", {{224, 61.5}, {512, 78.25}}}};
  const std::string svg = plot_svg(plot);
  for (const char* tick : {">60 %<", ">65 %<", ">80 %<"}) {
    EXPECT_NE(svg.find(tick), std::string::npos) << tick << svg;
  }
}

}  // namespace
}  // namespace vig::study
