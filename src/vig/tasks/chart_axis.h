// Which values an axis of a chart shows, and where.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "vig/tasks/chart.h"

namespace vig {

// False for NaN, infinity, and what has no logarithm where one is needed.
bool drawable(double value, AxisScale scale);
bool drawable(const std::pair<double, double>& point, const ChartPanel& panel);

// Of one coordinate of all points that can be drawn.
struct ValueRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();  // below `low`: no values
  bool whole = true;                                       // only integers, such as epochs
};
enum class Coordinate { kX, kY };
ValueRange value_range(std::span<const ChartPanel> panels, Coordinate coordinate);

struct ScaledAxis {
  double low = 0, high = 1;
  AxisScale scale = AxisScale::kLinear;
  double step = 0;                  // between ticks; 0: they have no equal distances
  std::vector<double> ticks, fine;  // fine: lines without a number

  double position(double value) const;  // 0 at `low`, 1 at `high`
};

// All values and the wanted ticks lie inside. `widen`: the axis ends at ticks; otherwise ticks of
// integers are integers.
ScaledAxis scale_axis(const ChartAxis& wanted, ValueRange values, bool widen);

// "10 G", "200 MB", "20 ms"; with as many digits as tell neighbours at a distance of `step` apart.
std::string tick_text(double value, const ChartAxis& axis, double step);

}  // namespace vig
