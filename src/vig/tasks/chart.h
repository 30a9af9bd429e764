// Line charts as SVG: panels side by side or below each other under one title, axes linear or
// logarithmic. One text that needs no script, font or link; its colours follow the reader's choice
// of a light or a dark page.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vig {

enum class AxisScale { kLinear, kLog };

struct ChartAxis {
  std::string label = "";  // drawn below an x axis; a panel's title names its y axis
  AxisScale scale = AxisScale::kLinear;
  std::vector<double> ticks = {};  // empty: round values
  std::string unit = "";           // of the ticks: values become 10 M, 10 G ... with it behind
  bool prefixes = false;           // 1e6 is "1 M"
};

struct ChartSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  // (x, y) in order of x; not drawable: a gap
  int colour = -1;      // index into the palette; -1: the index of the name in the legend
  bool strong = false;  // the one that the image is about
  bool dashed = false;
};

// A factor between two curves: a line from (x, from) to (x, to), with a text beside it and lines
// below the text that say what is compared.
struct ChartGap {
  double x = 0, from = 0, to = 0;
  std::string text;
  std::vector<std::string> notes = {};
};

// A point that is pointed out, with a text above the panel.
struct ChartMark {
  double x = 0, y = 0;
  std::string text;
};

struct ChartPanel {
  std::string title;
  ChartAxis x, y;
  std::vector<ChartSeries> series;
  std::vector<ChartGap> gaps = {};
  std::optional<ChartMark> mark = {};
  double height = 0;  // 0: the chart's panel_height
};

enum class ChartLayout {
  kRow,         // side by side, one legend above them
  kRowLegends,  // side by side, a legend below each: for panels of different curves
  kStack,       // below each other over the x axis of the last, a legend beside each
};

struct Chart {
  std::string title;
  std::string subtitle = "";  // below the title, smaller
  std::vector<ChartPanel> panels = {};
  std::string note = "";  // below the panels, on as many lines as it needs
  double panel_width = 300, panel_height = 260;
  ChartLayout layout = ChartLayout::kRow;
};

std::string chart_svg(const Chart& chart);

}  // namespace vig
