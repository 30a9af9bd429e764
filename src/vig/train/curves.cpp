#include "vig/train/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "vig/tasks/chart.h"

namespace vig::train {
namespace {

const std::string kLossPanel = "loss";

// "run" of "/photos/run/"; of ".", where it lies.
std::string last_name(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path whole = std::filesystem::absolute(path, ignored).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  const std::string name = whole.filename().string();
  return name.empty() ? path : name;
}

bool ends_above_validation(const Columns& columns, const std::vector<MetricsRow>& rows) {
  const auto loss = std::ranges::find(columns.val, kLossPanel, &Column::panel);
  if (rows.empty() || loss == columns.val.end()) return false;
  return rows.back().train_loss > rows.back().val[static_cast<size_t>(loss - columns.val.begin())];
}

// What stands below the curves.
std::string caption(const CurvesInfo& info, const std::vector<MetricsRow>& rows) {
  std::string text = ends_above_validation(info.columns, rows) ? info.note : "";
  if (info.best_note.empty()) return text;
  return fmt::format("{}{}The best network is {}.", text, text.empty() ? "" : " ", info.best_note);
}

}  // namespace

std::string curves_title(const std::string& run, const std::string& model,
                         const std::string& data) {
  return fmt::format("{}: {} on {}", last_name(run), model, last_name(data));
}

std::string curves_svg(const CurvesInfo& info, const std::vector<MetricsRow>& rows) {
  Chart chart{.title = info.title, .note = caption(info, rows)};
  chart.layout = ChartLayout::kStack;
  chart.panel_width = 560;
  chart.panel_height = 220;
  const auto find_panel = [&](const std::string& title) -> ChartPanel& {
    const auto found = std::ranges::find(chart.panels, title, &ChartPanel::title);
    if (found != chart.panels.end()) return *found;
    return chart.panels.emplace_back(
        ChartPanel{.title = title, .x = {.label = "epoch"}, .y = {}, .series = {}});
  };
  const auto draw = [&](ChartPanel& panel, const std::string& name, auto value) {
    // Each panel has its own legend, so colours begin again: training is the first in all.
    ChartSeries series{.name = name, .points = {}, .colour = static_cast<int>(panel.series.size())};
    for (const MetricsRow& row : rows) series.points.emplace_back(row.epoch, value(row));
    panel.series.push_back(series);
  };
  draw(find_panel(kLossPanel), "training", [](const MetricsRow& row) { return row.train_loss; });
  const auto best = std::ranges::find(rows, info.best_step, &MetricsRow::step);
  const auto draw_column = [&](const Column& column, size_t i, bool val) {
    if (column.panel.empty()) return;
    const auto value = [&](const MetricsRow& row) {
      return (column.percent ? 100 : 1) * (val ? row.val : row.train)[i];
    };
    ChartPanel& panel = find_panel(column.panel);
    draw(panel, column.curve, value);
    if (!val || best == rows.end() || !std::isfinite(value(*best))) return;
    // What the best network was chosen by has its words; other panels show their first number.
    if (i == info.best_column) {
      panel.mark = ChartMark{best->epoch, value(*best),
                             fmt::format("best: {} at epoch {:.6g}", info.best_label, best->epoch)};
    } else if (!panel.mark.has_value()) {
      panel.mark = ChartMark{best->epoch, value(*best), fmt::format("{:.4f}", value(*best))};
    }
  };
  for (size_t i = 0; i < info.columns.train.size(); ++i) {
    draw_column(info.columns.train[i], i, false);
  }
  for (size_t i = 0; i < info.columns.val.size(); ++i) draw_column(info.columns.val[i], i, true);
  ChartPanel& rate = find_panel("learning rate");
  rate.height = 110;
  draw(rate, "learning rate", [](const MetricsRow& row) { return row.lr; });
  return chart_svg(chart);
}

}  // namespace vig::train
