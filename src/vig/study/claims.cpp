#include "vig/study/claims.h"

#include <fmt/format.h>

#include <algorithm>
namespace vig::study {

std::string markdown_table(const std::vector<std::string>& titles,
                           const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  const auto add = [&](const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) {
      text += "| ";
      for (const char c : cell) {
        if (c == '|') text += '\\';
        text += c;
      }
      text += cell.empty() ? "" : " ";
    }
    text += "|\n";
  };
  std::vector<std::string> names = titles, rules;
  for (std::string& name : names) {
    const bool right = name.ends_with(':');
    if (right) name.pop_back();
    rules.push_back(right ? "---:" : "---");
  }
  add(names);
  text += fmt::format("|{}|\n", fmt::join(rules, "|"));
  for (const auto& row : rows) add(row);
  return text;
}

std::string verdict_markdown(Verdict verdict, const std::string& remark) {
  const std::string text = fmt::format("**{}**", verdict_text(verdict));
  if (verdict == Verdict::kUndecided && remark.empty()) return text + ": not measured yet";
  return remark.empty() ? text : text + ": " + remark;
}

std::string with_reason(Verdict verdict, std::string remark) {
  if (verdict != Verdict::kUndecided) return remark;
  return fmt::format("the interval, with the band of {:.0f} %, includes both{}{}", 100 * kBand,
                     remark.empty() ? "" : "; ", remark);
}

std::string claim_text(const Claim& claim) {
  std::string text = fmt::format("{}: {}", verdict_text(claim.verdict), claim.text);
  if (!claim.paper.empty()) text += fmt::format("; the paper: {}", claim.paper);
  if (!claim.here.empty()) text += fmt::format("; here: {}", claim.here);
  const std::string verdict = verdict_markdown(claim.verdict, claim.remark);
  const size_t reason = verdict.find("**: ");
  return reason == std::string::npos ? text
                                     : fmt::format("{} ({})", text, verdict.substr(reason + 4));
}

std::string claims_markdown(const std::vector<Claim>& claims) {
  std::vector<std::vector<std::string>> rows;
  for (const Claim& claim : claims) {
    rows.push_back(
        {claim.text, claim.paper, claim.here, verdict_markdown(claim.verdict, claim.remark)});
  }
  return markdown_table({"the paper says or its tables show", "paper", "here", "verdict"}, rows);
}

std::string conditions_sentence(const Results& results) {
  if (results.rows.empty()) return "Nothing is measured yet.";
  const Conditions& c = results.conditions;
  const auto [first, last] = std::ranges::minmax(results.rows, {}, &Row::date);
  return fmt::format("{}, {}, {} thread{}, float32, vig {}, measured {}{}{}.", c.cpu, c.simd,
                     c.threads, c.threads == "1" ? "" : "s", c.version, first.date,
                     first.date == last.date ? "" : " to " + last.date,
                     c.settings.empty() ? "" : ", " + c.settings);
}

std::string millions_text(std::optional<double> count) {
  return count ? fmt::format("{:.2f} M", 1e-6 * *count) : "";
}

std::string giga_text(std::optional<double> count) {
  if (!count) return "";
  const bool tera = *count >= 999.5e9;
  const double number = *count * (tera ? 1e-12 : 1e-9);
  return fmt::format("{:.{}f} {}", number,
                     number < 9.995   ? 2
                     : number < 99.95 ? 1
                                      : 0,
                     tera ? "T" : "G");
}

std::string bytes_text(std::optional<double> bytes) {
  if (!bytes) return "";
  return *bytes < 999.5e6 ? fmt::format("{:.0f} MB", 1e-6 * *bytes)
                          : fmt::format("{:.2f} GB", 1e-9 * *bytes);
}

std::string ms_text(std::optional<double> ms) {
  if (!ms) return "";
  if (*ms >= 9995) return fmt::format("{:.1f} s", 1e-3 * *ms);
  if (*ms >= 999.5) return fmt::format("{:.2f} s", 1e-3 * *ms);
  return fmt::format("{:.{}f} ms", *ms, *ms < 99.95 ? 1 : 0);
}

std::string ratio_text(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.{}f}x", *ratio, *ratio < 1.995 ? 2 : *ratio < 9.95 ? 1 : 0) : "";
}

std::string percent_text(std::optional<double> share) {
  return share ? fmt::format("{:.0f} %", 100 * *share) : "";
}

std::optional<double> ratio(std::optional<double> a, std::optional<double> b) {
  if (!a || !b || *b == 0) return std::nullopt;
  return *a / *b;
}

std::string interval_text(const std::optional<Interval>& interval) {
  if (!interval) return "";
  const std::string value = ratio_text(interval->value);
  if (interval->low == interval->high) return value;
  return fmt::format("{} ({} to {})", value, ratio_text(interval->low), ratio_text(interval->high));
}

std::string points_text(const std::optional<Interval>& difference) {
  if (!difference) return "";
  return fmt::format("{:+.1f} ({:+.1f} to {:+.1f})", 100 * difference->value, 100 * difference->low,
                     100 * difference->high);
}

}  // namespace vig::study
