#include "vig/study/verdict.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "vig/base/error.h"

namespace vig::study {
namespace {

// Of `condition(bound)` at both ends of an interval.
Verdict at_both_ends(bool low, bool high) {
  return low && high ? Verdict::kHolds : low || high ? Verdict::kUndecided : Verdict::kFails;
}

}  // namespace

std::string_view verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds:
      return "holds";
    case Verdict::kFails:
      return "does not hold";
    case Verdict::kUndecided:
      return "undecided";
    case Verdict::kUnchecked:
      return "cannot be checked here";
  }
  return "";
}

Verdict verdict_of(std::optional<bool> holds) {
  if (!holds.has_value()) return Verdict::kUndecided;
  return *holds ? Verdict::kHolds : Verdict::kFails;
}

Printed parse_printed(std::string_view text) {
  Printed printed;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, printed.value);
  const std::string_view unit(rest, static_cast<size_t>(end - rest));
  const double scale = unit == "M" ? 1e6 : unit == "G" ? 1e9 : unit.empty() ? 1 : 0;
  if (error != std::errc() || scale == 0) fail("[study] '{}' is no figure of the paper", text);
  const std::string_view digits = text.substr(0, static_cast<size_t>(rest - text.data()));
  const size_t point = digits.find('.');
  const double decimals =
      point == std::string_view::npos ? 0 : static_cast<double>(digits.size() - point - 1);
  printed.value *= scale;
  printed.digit = scale * std::pow(10.0, -decimals);
  return printed;
}

bool agrees(double number, const Printed& printed) {
  constexpr double kRounding = 1e-6;  // of sums of printed figures, in digits
  const double digits = number / printed.digit;
  const long long wanted = std::llround(printed.value / printed.digit);
  return std::llround(digits) == wanted ||
         static_cast<long long>(std::floor(digits + kRounding)) == wanted;
}

bool agrees(double number, std::string_view printed) {
  return agrees(number, parse_printed(printed));
}

std::optional<Interval> ratio_of(std::optional<double> a, double spread_a, std::optional<double> b,
                                 double spread_b) {
  if (!a || !b || *b == 0) return std::nullopt;
  const double value = *a / *b, width = (spread_a + spread_b) / 2;
  return Interval{value, value / (1 + width), value * (1 + width)};
}

Verdict reaches(const std::optional<Interval>& factor, double printed) {
  if (!factor) return Verdict::kUndecided;
  const double least = printed * (1 - kBand);
  return at_both_ends(factor->low >= least, factor->high >= least);
}

Verdict exceeds_one(const std::optional<Interval>& factor) {
  if (!factor) return Verdict::kUndecided;
  if (factor->low > 1 + kBand) return Verdict::kHolds;
  return factor->high < 1 - kBand ? Verdict::kFails : Verdict::kUndecided;
}

Verdict equals_one(const std::optional<Interval>& factor) {
  if (!factor) return Verdict::kUndecided;
  if (factor->high < 1 - kBand || factor->low > 1 + kBand) return Verdict::kFails;
  const bool inside = factor->low >= 1 - kBand && factor->high <= 1 + kBand;
  return inside ? Verdict::kHolds : Verdict::kUndecided;
}

Verdict matches_one(const std::optional<Interval>& factor) { return reaches(factor, 1); }

Verdict all_of(std::span<const Verdict> verdicts) {
  if (std::ranges::find(verdicts, Verdict::kFails) != verdicts.end()) return Verdict::kFails;
  const bool all = std::ranges::all_of(verdicts, [](Verdict v) { return v == Verdict::kHolds; });
  return all && !verdicts.empty() ? Verdict::kHolds : Verdict::kUndecided;
}

double student_t95(int degrees) {
  constexpr std::array kValues = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                  2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                  2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                  2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees < 1) fail("[study] {} degrees of freedom, expected at least 1", degrees);
  // Above the table the value of its end, which is a little too wide.
  return kValues[std::min(static_cast<size_t>(degrees), kValues.size()) - 1];
}

std::optional<Interval> paired_difference(std::span<const double> a, std::span<const double> b) {
  const size_t pairs = std::min(a.size(), b.size());
  if (pairs < 2) return std::nullopt;
  const double count = static_cast<double>(pairs);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < pairs; ++i) sum += b[i] - a[i];
  const double mean = sum / count;
  for (size_t i = 0; i < pairs; ++i) squares += std::pow(b[i] - a[i] - mean, 2);
  const double error = std::sqrt(squares / (count - 1) / count);
  const double half = student_t95(static_cast<int>(pairs) - 1) * error;
  return Interval{mean, mean - half, mean + half};
}

Verdict has_sign(const std::optional<Interval>& difference, bool positive) {
  if (!difference) return Verdict::kUndecided;
  if (difference->low > 0) return verdict_of(positive);
  if (difference->high < 0) return verdict_of(!positive);
  return Verdict::kUndecided;
}

}  // namespace vig::study
