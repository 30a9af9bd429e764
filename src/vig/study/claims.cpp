#include "vig/study/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "vig/base/error.h"

namespace vig::study {

std::string_view verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds:
      return "holds here";
    case Verdict::kFails:
      return "does not hold here";
    case Verdict::kUndecided:
      return "cannot be decided here";
    case Verdict::kNeedsImageNet:
      return "cannot be checked without ImageNet or a GPU";
    case Verdict::kNeedsScenes:
      return "cannot be checked without COCO, ADE20K or a GPU";
    case Verdict::kNotBuilt:
      return "cannot be checked here yet";
    case Verdict::kNotMeasured:
      return "not measured yet";
  }
  return "";
}

Verdict verdict_of(std::optional<bool> holds) {
  if (!holds.has_value()) return Verdict::kNotMeasured;
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

bool rounds_to(double number, std::string_view printed) {
  const Printed paper = parse_printed(printed);
  return std::llround(number / paper.digit) == std::llround(paper.value / paper.digit);
}

bool truncates_to(double number, std::string_view printed) {
  const Printed paper = parse_printed(printed);
  return static_cast<long long>(number / paper.digit) == std::llround(paper.value / paper.digit);
}

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

std::string claims_markdown(const std::vector<Claim>& claims) {
  std::vector<std::vector<std::string>> rows;
  for (const Claim& claim : claims) {
    std::string verdict = fmt::format("**{}**", verdict_text(claim.verdict));
    if (!claim.remark.empty()) verdict += ": " + claim.remark;
    rows.push_back({claim.text, claim.paper, claim.here, verdict});
  }
  return markdown_table({"the paper says", "paper", "here", "verdict"}, rows);
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

}  // namespace vig::study
