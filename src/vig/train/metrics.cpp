#include "vig/train/metrics.h"

#include <fmt/format.h>

#include <cmath>

namespace vig::train {

std::map<std::string, std::string> model_notes(const MetricsRow& row, const Columns& columns) {
  std::map<std::string, std::string> notes = {{"epoch", fmt::format("{:.6g}", row.epoch)},
                                              {"step", std::to_string(row.step)}};
  for (size_t i = 0; i < columns.val.size(); ++i) {
    if (!columns.val[i].noted || !std::isfinite(row.val[i])) continue;
    notes[columns.val[i].name] = fmt::format("{:.6g}", row.val[i]);
  }
  return notes;
}

std::string metrics_csv(const Columns& columns, const std::vector<MetricsRow>& rows) {
  std::string text = "epoch,step,lr,train_loss";
  for (const auto* list : {&columns.train, &columns.val}) {
    for (const Column& column : *list) text += "," + column.name;
  }
  text += ",images_per_second,seconds\n";
  const auto cell = [](double value, int digits) {
    return std::isfinite(value) ? fmt::format(",{:.{}f}", value, digits) : std::string(",");
  };
  for (const MetricsRow& row : rows) {
    text += fmt::format("{:.6g},{},{:.6g}", row.epoch, row.step, row.lr);
    text += cell(row.train_loss, 6);
    for (const auto* list : {&row.train, &row.val}) {
      for (const double value : *list) text += cell(value, 6);
    }
    text += cell(row.images_per_second, 1) + cell(row.seconds, 1) + "\n";
  }
  return text;
}

}  // namespace vig::train
