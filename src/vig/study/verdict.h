// The rules by which a claim of the paper gets its verdict. Every study uses these and no others.
//
// - A printed figure agrees with ours when ours, rounded or cut off to its last digit, is it.
// - Relations of speed and memory have a band of 5 %: a factor is reached when ours is at least 95
// %
//   of it, and two figures are the same within 5 % of each other.
// - A measured figure is an interval. A relation holds when it does for the whole interval, does
// not
//   hold when it does for no part of it, and is undecided otherwise.
// - Accuracies are compared by the mean difference of paired seeds and its 95 % interval of
//   Student's t distribution.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace vig::study {

enum class Verdict {
  kHolds,
  kFails,
  kUndecided,  // the interval includes both, the test cannot discriminate, or rows are missing
  kUnchecked,  // needs data or a machine that this one is not
};
// "holds", "does not hold", "undecided", "cannot be checked here".
std::string_view verdict_text(Verdict verdict);
// kUndecided without a value: nothing is measured.
Verdict verdict_of(std::optional<bool> holds);

// A number as the paper prints it: "5.72M", "0.9G", "12M". The unit and the digits after the point.
struct Printed {
  double value = 0;  // in units of one
  double digit = 0;  // of the last digit: 0.01e6 of "5.72M"
};
// Throws where the text is none.
Printed parse_printed(std::string_view text);
// Whether a number, rounded or cut off to the digits of the printed one, is the printed one.
bool agrees(double number, const Printed& printed);
bool agrees(double number, std::string_view printed);

// Relations of speed and memory that are nearer to each other than this are the same.
inline constexpr double kBand = 0.05;

// A figure and the interval that it is measured to lie in.
struct Interval {
  double value = 0, low = 0, high = 0;
};
// Of a / b. `spread`: of the runs of each, as a share of their median.
std::optional<Interval> ratio_of(std::optional<double> a, double spread_a, std::optional<double> b,
                                 double spread_b);

// At least `printed` less the band.
Verdict reaches(const std::optional<Interval>& factor, double printed);
// Above 1 by more than the band holds, below 1 by more than the band does not.
Verdict exceeds_one(const std::optional<Interval>& factor);
// 1 within the band.
Verdict equals_one(const std::optional<Interval>& factor);
// Not below 1 by more than the band.
Verdict matches_one(const std::optional<Interval>& factor);
// Of a claim about several pairs: one that does not hold refutes it, and all must hold.
Verdict all_of(std::span<const Verdict> verdicts);

// The value that Student's t of so many degrees of freedom exceeds in absolute value in 5 % of all
// cases.
double student_t95(int degrees);
// The mean of b - a, pair by pair, and its 95 % interval. nullopt for fewer than two pairs.
std::optional<Interval> paired_difference(std::span<const double> a, std::span<const double> b);
// Whether the difference has the paper's sign: undecided where the interval includes zero.
Verdict has_sign(const std::optional<Interval>& difference, bool positive);

}  // namespace vig::study
