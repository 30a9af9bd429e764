// What a run measures: a row for each validation, in columns that the task names.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace vig::train {

// A number of a row, and where it is shown.
struct Column {
  std::string name;   // in metrics.csv
  std::string title;  // in the printed table; empty: not printed
  std::string panel;  // of curves.svg that draws it; empty: none does
  std::string curve;  // its name there
  bool percent = false;
  bool noted = false;  // also stored in the file of the network
};

// Those of a task, beside the loop's own: epoch, step, learning rate, training loss, speed.
struct Columns {
  std::vector<Column> train;  // means over the training images since the row before
  std::vector<Column> val;
};

constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

// What happened since the row before.
struct MetricsRow {
  double epoch = 0;
  int64_t step = 0;
  double lr = 0;
  double train_loss = 0;
  std::vector<double> train, val;  // one number for each of the task's columns
  double images_per_second = 0;
  double seconds = 0;  // of training since the start of the run, interruptions not counted
};

// What the file of a network says of it: epoch, step and the columns that are noted.
std::map<std::string, std::string> model_notes(const MetricsRow& row, const Columns& columns);

std::string metrics_csv(const Columns& columns, const std::vector<MetricsRow>& rows);

}  // namespace vig::train
