// Line plots as SVG: panels side by side under one title and one legend, axes linear or
// logarithmic. One text that needs no script, font or link; its colours follow the reader's choice
// of a light or a dark page.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vig::study {

enum class Scale { kLinear, kLog };

struct PlotAxis {
  std::string label;
  Scale scale = Scale::kLinear;
  std::vector<double> ticks = {};  // empty: round numbers
  std::string unit = "";           // of the ticks: values become 10 M, 10 G ... with it behind
  bool prefixes = false;           // 1e6 is "1 M"
};

struct PlotSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  // (x, y) in order of x; not drawable: a gap
  int colour = -1;      // place in the palette; -1: the place of the name in the legend
  bool strong = false;  // the one that the image is about
  bool dashed = false;
};

// A factor between two curves: a line from (x, from) to (x, to), with a text beside it and lines
// below the text that say what is compared.
struct PlotGap {
  double x = 0, from = 0, to = 0;
  std::string text;
  std::vector<std::string> notes = {};
};

struct PlotPanel {
  std::string title;
  PlotAxis x, y;
  std::vector<PlotSeries> series;
  std::vector<PlotGap> gaps = {};
};

struct Plot {
  std::string title;
  std::string subtitle;  // below the title, smaller
  std::vector<PlotPanel> panels;
  std::string note = "";  // below the panels, on as many lines as it needs
  double panel_width = 300, panel_height = 260;
  bool legend_per_panel = false;  // below each panel, for panels of different curves
};

std::string plot_svg(const Plot& plot);

}  // namespace vig::study
