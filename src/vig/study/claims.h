// Claims of the paper beside what was measured here, as Markdown.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vig/study/study.h"

namespace vig::study {

// The verdict with its reason, in Markdown: "**undecided**: not measured yet" where an undecided
// one has no other.
std::string verdict_markdown(Verdict verdict, const std::string& remark);
// What `remark` says, after what an undecided verdict on a measured figure is due to.
std::string with_reason(Verdict verdict, std::string remark);
// A claim on one line, for a terminal.
std::string claim_text(const Claim& claim);
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
// "2.1x (2.0x to 2.2x)", and of accuracies "+1.2 (+0.3 to +2.1)".
std::string interval_text(const std::optional<Interval>& interval);
std::string points_text(const std::optional<Interval>& difference);
// nullopt where one of them is missing.
std::optional<double> ratio(std::optional<double> a, std::optional<double> b);

}  // namespace vig::study
