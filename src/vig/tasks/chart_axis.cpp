#include "vig/tasks/chart_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vig {
namespace {

constexpr double kIntervals = 5;  // between the ticks of a linear axis, at most

// 1, 2 or 5 times a power of ten, not below (`up`) or not above the value.
double nice_number(double value, bool up) {
  const double power = std::pow(10.0, std::floor(std::log10(value) + 1e-9));
  const double digit = value / power;
  if (up)
    return power * (digit <= 1.000001 ? 1 : digit <= 2.000001 ? 2 : digit <= 5.000001 ? 5 : 10);
  return power * (digit >= 4.999999 ? 5 : digit >= 1.999999 ? 2 : 1);
}

void set_log_ticks(ScaledAxis& axis) {
  const bool decades = axis.high / axis.low > 30;
  for (double power = std::pow(10.0, std::floor(std::log10(axis.low) + 1e-9));
       power <= axis.high * 1.000001; power *= 10) {
    for (int digit = 1; digit < 10; ++digit) {
      const double value = power * digit;
      if (value < axis.low * 0.999999 || value > axis.high * 1.000001) continue;
      const bool main = digit == 1 || (!decades && (digit == 2 || digit == 5));
      (main ? axis.ticks : axis.fine).push_back(value);
    }
  }
}

void scale_log(ScaledAxis& axis, bool widen) {
  if (axis.low > axis.high) axis.low = 1, axis.high = 10;  // no values
  if (widen) axis.low = nice_number(axis.low, false), axis.high = nice_number(axis.high, true);
  if (axis.high < axis.low * 1.01) axis.low /= 2, axis.high *= 2;
  if (axis.ticks.empty()) set_log_ticks(axis);
}

void scale_linear(ScaledAxis& axis, bool whole, bool widen) {
  if (axis.low > axis.high) axis.low = 0, axis.high = 1;  // no values
  const double least = std::max({std::abs(axis.low), std::abs(axis.high), 1e-3}) * 1e-9;
  if (axis.high - axis.low < least) {  // one value
    const double room = axis.low == 0 ? 0.5 : std::abs(axis.low) * 0.1;
    axis.low -= room;
    axis.high += room;
  }
  axis.step = nice_number((axis.high - axis.low) / kIntervals, true);
  if (whole && !widen) axis.step = std::max(axis.step, 1.0);
  // The rounding of a division must not lose a tick, nor add one.
  const double begin = axis.low / axis.step, end = axis.high / axis.step;
  const double first = widen ? std::floor(begin + 1e-6) : std::ceil(begin - 1e-6);
  const double last = widen ? std::ceil(end - 1e-6) : std::floor(end + 1e-6);
  if (widen) axis.low = first * axis.step, axis.high = last * axis.step;
  if (!axis.ticks.empty()) return;
  for (double i = first; i <= last; ++i) axis.ticks.push_back(i == 0 ? 0 : i * axis.step);
}

}  // namespace

bool drawable(double value, AxisScale scale) {
  return std::abs(value) < 1e300 && (scale == AxisScale::kLinear || value > 0);
}

bool drawable(const std::pair<double, double>& point, const ChartPanel& panel) {
  return drawable(point.first, panel.x.scale) && drawable(point.second, panel.y.scale);
}

ValueRange value_range(std::span<const ChartPanel> panels, Coordinate coordinate) {
  ValueRange range;
  for (const ChartPanel& panel : panels) {
    for (const ChartSeries& series : panel.series) {
      for (const auto& point : series.points) {
        if (!drawable(point, panel)) continue;
        const double value = coordinate == Coordinate::kX ? point.first : point.second;
        range.low = std::min(range.low, value);
        range.high = std::max(range.high, value);
        range.whole = range.whole && value == std::round(value);
      }
    }
  }
  return range;
}

double ScaledAxis::position(double value) const {
  if (scale == AxisScale::kLinear) return (value - low) / (high - low);
  return std::log(value / low) / std::log(high / low);
}

ScaledAxis scale_axis(const ChartAxis& wanted, ValueRange values, bool widen) {
  for (const double tick : wanted.ticks) {
    values.low = std::min(values.low, tick);
    values.high = std::max(values.high, tick);
  }
  ScaledAxis axis{values.low, values.high, wanted.scale, 0, wanted.ticks, {}};
  if (wanted.scale == AxisScale::kLog) {
    scale_log(axis, widen);
  } else {
    scale_linear(axis, values.whole, widen);
  }
  return axis;
}

std::string tick_text(double value, const ChartAxis& axis, double step) {
  static constexpr std::pair<double, const char*> kPrefixes[] = {
      {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "\u00b5"}};
  if (!axis.prefixes || value <= 0) {
    const auto exponent = [](double x) {
      return static_cast<int>(std::floor(std::log10(x) + 1e-9));
    };
    int digits = 4;
    if (value != 0) {
      const int size = exponent(std::abs(value));
      if (size < 7) digits = std::max(digits, size + 1);  // 12000, not 1.2e+04
      if (step > 0) digits = std::clamp(size - exponent(step) + 1, digits, 17);
    }
    return fmt::format("{:.{}g}{}{}", value, digits, axis.unit.empty() ? "" : " ", axis.unit);
  }
  for (const auto& [size, prefix] : kPrefixes) {
    if (value < size * 0.999999) continue;
    const std::string unit = prefix + axis.unit;
    return fmt::format("{:.4g}{}{}", value / size, unit.empty() ? "" : " ", unit);
  }
  return fmt::format("{:.1e}", value);
}

}  // namespace vig
