// Claims of the paper beside what was measured here, as Markdown.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vig/study/study.h"

namespace vig::study {

enum class Verdict {
  kHolds,
  kFails,
  kUndecided,      // the measurement is not sharp enough
  kNeedsImageNet,  // or a GPU
  kNeedsScenes,    // COCO, ADE20K or a GPU
  kNotBuilt,       // needs a part of the program that is not there yet
  kNotMeasured,    // the rows are missing
};
// "holds here", "does not hold here", "cannot be checked without ImageNet or a GPU", ...
std::string_view verdict_text(Verdict verdict);
// kNotMeasured without a value.
Verdict verdict_of(std::optional<bool> holds);

// A number as the paper prints it: "5.72M", "0.9G", "12M". The unit and the digits after the point.
struct Printed {
  double value = 0;  // in units of one
  double digit = 0;  // of the last digit: 0.01e6 of "5.72M"
};
// Throws where the text is none.
Printed parse_printed(std::string_view text);
// Whether a number, rounded to the digits of the printed one, is the printed one.
bool rounds_to(double number, std::string_view printed);
// Whether the digits that are not printed were cut off.
bool truncates_to(double number, std::string_view printed);

struct Claim {
  std::string text;   // what the paper says, and where
  std::string paper;  // its figure
  std::string here;   // ours; empty where there is none
  Verdict verdict = Verdict::kNotMeasured;
  std::string remark = "";
};
// A table: claim, the paper's figure, ours, verdict with the remark.
std::string claims_markdown(const std::vector<Claim>& claims);

// Cells hold Markdown; "|" in them is escaped. Columns whose title ends in ":" are right-aligned.
std::string markdown_table(const std::vector<std::string>& titles,
                           const std::vector<std::vector<std::string>>& rows);

// "Intel Xeon, AVX-512, 2 threads, float32, vig 0.1.0, measured 2026-11-17": what a table begins
// with. Without rows: that nothing is measured yet.
std::string conditions_sentence(const Results& results);

// Formats of figures: "5.83 M", "1.20 G", "63 MB", "8.2 ms", "1.40 s", "5.2x"; empty without a
// value.
std::string millions_text(std::optional<double> count);
std::string giga_text(std::optional<double> count);
std::string bytes_text(std::optional<double> bytes);
std::string ms_text(std::optional<double> ms);
std::string ratio_text(std::optional<double> ratio);
std::string percent_text(std::optional<double> share);
// nullopt where one of them is missing.
std::optional<double> ratio(std::optional<double> a, std::optional<double> b);

}  // namespace vig::study
