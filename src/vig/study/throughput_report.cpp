#include "vig/study/throughput_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "vig/models/family.h"
#include "vig/study/bench_row.h"
#include "vig/study/claims.h"
#include "vig/study/paper_tables.h"
#include "vig/tasks/chart.h"

namespace vig::study {
namespace {

using Value = std::optional<double>;

Value multiply_adds(const Row& row) {
  const Value dense = row.number("dense_multiply_adds");
  return dense ? Value(*dense + row.number("scan_multiply_adds").value_or(0)) : dense;
}

std::string speed_text(Value images) {
  return images ? fmt::format("{:.{}f}", *images, *images < 9.95 ? 1 : 0) : "";
}
std::string or_dash(std::string text) { return text.empty() ? "-" : text; }

// ---- agreement of counts ------------------------------------------------------------------

std::string params_verdict(const PaperRow& paper, const Row& row) {
  const std::string printed = printed_params(paper);
  const Value here = row.number("parameters");
  if (printed.empty() || !here) return "";
  if (agrees(*here, printed)) return std::string(verdict_text(Verdict::kHolds));
  return fmt::format("{} ({:+.1f} %)", verdict_text(Verdict::kFails),
                     100 * (parse_printed(printed).value / *here - 1));
}

std::string flops_verdict(const PaperRow& paper, const Row& row) {
  const std::string printed = printed_flops(paper);
  const Value here = multiply_adds(row), baselines = row.number("baselines_multiply_adds"),
              uncounted = row.number("without_down_proj");
  if (printed.empty() || !here || !baselines || !uncounted) return "";
  if (agrees(*here, printed)) return std::string(verdict_text(Verdict::kHolds));
  if (agrees(*baselines, printed)) {
    return fmt::format("{} (with {} by its authors' count)", verdict_text(Verdict::kHolds),
                       giga_text(baselines));
  }
  std::string detail = fmt::format("{:+.1f} %", 100 * (parse_printed(printed).value / *here - 1));
  if (*baselines > *here) detail += fmt::format("; {} by its authors' count", giga_text(baselines));
  if (*uncounted < *here) {
    detail += fmt::format("; {} without down_proj{}", giga_text(uncounted),
                          agrees(*uncounted, printed) ? ", as printed" : "");
  }
  return fmt::format("{} ({})", verdict_text(Verdict::kFails), detail);
}

std::vector<std::string> table_row(const PaperRow& paper, const Results& results) {
  std::vector<std::string> cells = {std::string(paper.label), fmt::format("{}", paper.size)};
  const Row* found = results.find(paper.label);
  // Counts need no machine.
  const Row row =
      found != nullptr ? *found : throughput_counts(throughput_request(std::string(paper.label)));
  std::string verdict;
  const std::string params = params_verdict(paper, row), flops = flops_verdict(paper, row);
  if (!params.empty()) verdict += "parameters: **" + params + "**";
  if (!flops.empty()) {
    verdict += (verdict.empty() ? "" : "; ") + std::string("FLOPs: **") + flops + "**";
  }
  if (!paper.remark.empty()) verdict += fmt::format(": {}", paper.remark);
  cells.insert(cells.end(),
               {or_dash(printed_params(paper)), millions_text(row.number("parameters")),
                or_dash(printed_flops(paper)), giga_text(multiply_adds(row)),
                paper.throughput > 0 ? fmt::format("{}", paper.throughput) : "-",
                speed_text(row.number("images_per_second")), std::string(paper.accuracy), verdict});
  return cells;
}

std::string table(PaperTable which, const Results& results) {
  std::vector<std::vector<std::string>> rows;
  for (const PaperRow& paper : paper_rows()) {
    if (paper.table == which) rows.push_back(table_row(paper, results));
  }
  return markdown_table(
      {"model", "size:", "parameters, paper:", "here:", "FLOPs, paper:", "multiply-adds here:",
       "images/s, paper's GPU:", "here:", "top 1, paper:", "verdict"},
      rows);
}

std::string other_table(const Results& results) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& model : other_models()) {
    const Row* found = results.find(model);
    if (found == nullptr) continue;
    rows.push_back({model, found->text("size"), millions_text(found->number("parameters")),
                    giga_text(multiply_adds(*found)),
                    speed_text(found->number("images_per_second"))});
  }
  if (rows.empty()) return "";
  return "\nOther models, which the paper's tables do not have:\n\n" +
         markdown_table({"model", "size:", "parameters:", "multiply-adds:", "images/s:"}, rows);
}

// ---- claims -------------------------------------------------------------------------------

class Claims {
 public:
  explicit Claims(const Results& results) : results_(results) {}

  // Of the pair that took turns; where it is missing, of two rows that did not, with their spreads.
  std::optional<Interval> speed(std::string_view a, std::string_view b) const {
    if (const Row* pair = results_.find(throughput_pair_key(a, b))) return pair_ratio(pair);
    const auto number = [&](std::string_view label, const char* column) {
      return results_.number(label, column);
    };
    return ratio_of(number(a, "images_per_second"), number(a, "spread").value_or(0),
                    number(b, "images_per_second"), number(b, "spread").value_or(0));
  }
  std::string how(std::string_view a, std::string_view b) const {
    if (!speed(a, b) || results_.find(throughput_pair_key(a, b)) != nullptr) return "";
    return "measured one after the other, not in turns";
  }

  Claim faster(std::string text, std::string_view a, std::string_view b, double printed) const {
    const auto here = speed(a, b);
    const Verdict verdict = reaches(here, printed);
    return {std::move(text), fmt::format("{:.1f}x", printed), interval_text(here), verdict,
            here ? with_reason(verdict, how(a, b)) : ""};
  }

  // Each pair in turn.
  Claim all(std::string text, const std::vector<ThroughputPair>& pairs,
            Verdict (*judge)(const std::optional<Interval>&)) const {
    Claim claim{std::move(text), "", "", Verdict::kUndecided};
    std::vector<Verdict> verdicts;
    std::vector<std::string> refuting, close, missing;
    for (const auto& [a, b] : pairs) {
      const auto here = speed(a, b);
      verdicts.push_back(judge(here));
      claim.paper +=
          fmt::format("{}{}", claim.paper.empty() ? "" : "; ", ratio_text(paper_speed(a, b)));
      const std::string name = fmt::format("{} / {}", a, b);
      if (!here) {
        missing.push_back(name);
        continue;
      }
      if (claim.remark.empty()) claim.remark = how(a, b);
      if (verdicts.back() == Verdict::kFails) refuting.push_back(name);
      if (verdicts.back() == Verdict::kUndecided) close.push_back(name);
      claim.here +=
          fmt::format("{}{}: {}", claim.here.empty() ? "" : "; ", name, ratio_text(here->value));
    }
    claim.verdict = all_of(verdicts);
    if (claim.here.empty()) return claim;
    const auto add = [&](const std::vector<std::string>& names, const char* words) {
      if (names.empty()) return;
      claim.remark = fmt::format("{} {}{}{}", fmt::join(names, ", "), words,
                                 claim.remark.empty() ? "" : "; ", claim.remark);
    };
    if (claim.verdict == Verdict::kFails) add(refuting, "contradict it");
    if (claim.verdict == Verdict::kUndecided) {
      add(close, "are within 5 % or their spread");
      add(missing, "are not measured yet");
    }
    return claim;
  }

  // A cost of ViG-S beside DeiT-B's, which has no error: as a share ("only 27 %") or a factor
  // ("3.7x fewer"). What is better than printed holds, too.
  Claim share(std::string text, const char* printed, bool factor,
              const std::function<Value(const Row&)>& cost, std::string remark) const {
    const char* unit = factor ? "x" : " %";
    const Row *small = results_.find("ViG-S"), *large = results_.find("DeiT-B");
    Claim claim{std::move(text), std::string(printed) + unit, "", Verdict::kUndecided,
                std::move(remark)};
    if (small == nullptr || large == nullptr || !cost(*small) || !cost(*large)) return claim;
    const Printed paper = parse_printed(printed);
    const double share = *cost(*small) / *cost(*large), here = factor ? 1 / share : 100 * share;
    claim.here = fmt::format("{:.{}f}{}", here, factor ? 1 : 0, unit);
    const bool better = factor ? here > paper.value : here < paper.value;
    claim.verdict = verdict_of(better || agrees(here, paper));
    return claim;
  }

  std::string uncounted_share(bool percent) const {
    const Row *small = results_.find("ViG-S"), *large = results_.find("DeiT-B");
    if (small == nullptr || large == nullptr) return "";
    const Value part = ratio(small->number("without_down_proj"), multiply_adds(*large));
    return fmt::format("{} when ViG-S is counted without down_proj",
                       percent ? percent_text(part) : ratio_text(ratio(1.0, part)));
  }

 private:
  const Results& results_;
};

using Pairs = std::vector<ThroughputPair>;

const Pairs& sequence_pairs() {
  static const Pairs pairs = {
      {"ViG-T", "Vim-T"},         {"ViG-T", "VRWKV-T"},       {"ViG-T", "LocalVim-T"},
      {"ViG-T", "PlainMamba-L1"}, {"ViG-S", "Vim-S"},         {"ViG-S", "VRWKV-S"},
      {"ViG-S", "LocalVim-S"},    {"ViG-S", "PlainMamba-L2"}, {"ViG-B", "VRWKV-B"},
      {"ViG-B", "PlainMamba-L3"}, {"ViG-B", "S4ND-ViT-B"}};
  return pairs;
}
// The slower one, by the paper, comes second in no pair but these.
const Pairs& deit_pairs() {
  static const Pairs pairs = {{"DeiT-T", "ViG-T"}, {"DeiT-S", "ViG-S"}, {"DeiT-B", "ViG-B"}};
  return pairs;
}
const Pairs& scan_pairs() {
  static const Pairs pairs = {{"ViG-H-T", "S4ND-ConvNeXt-T"},
                              {"ViG-H-T", "VMamba-T"},
                              {"ViG-H-S", "VMamba-S"},
                              {"ViG-H-B", "VMamba-B"}};
  return pairs;
}
const Pairs& convolution_pairs() {
  static const Pairs pairs = {{"ViG-H-T", "ConvNeXt-T"}, {"ViG-H-S", "ConvNeXt-S"},
                              {"ViG-H-B", "ConvNeXt-B"}, {"ViG-H-T", "Swin-T"},
                              {"ViG-H-S", "Swin-S"},     {"ViG-H-B", "Swin-B"}};
  return pairs;
}

std::vector<Claim> speed_claims(const Results& results) {
  const Claims make(results);
  const auto parameters = [](const Row& row) { return row.number("parameters"); };
  return {
      make.share("ViG-S uses only 27 % of DeiT-B's parameters (abstract)", "27", false, parameters,
                 ""),
      make.share("ViG-S has 3.7x fewer parameters than DeiT-B", "3.7", true, parameters, ""),
      make.share("ViG-S uses only 20 % of DeiT-B's FLOPs (abstract)", "20", false, multiply_adds,
                 make.uncounted_share(true)),
      make.share("ViG-S needs 5x fewer FLOPs than DeiT-B", "5", true, multiply_adds,
                 make.uncounted_share(false)),
      make.faster("ViG-S runs 2x faster than DeiT-B at 224", "ViG-S", "DeiT-B", 2.0),
      make.faster("ViG-T is 1.8x faster than Vim-T", "ViG-T", "Vim-T", 1.8),
      make.faster("ViG-S is 1.6x faster than Vim-S", "ViG-S", "Vim-S", 1.6),
      make.faster("ViG-T is 5.2x faster than LocalVim-T", "ViG-T", "LocalVim-T", 5.2),
      make.faster("ViG-T is 4.6x faster than PlainMamba-L1", "ViG-T", "PlainMamba-L1", 4.6),
      make.all("ViG surpasses other linear-complexity sequence models in throughput",
               sequence_pairs(), exceeds_one),
      make.all("ViG is slightly slower than DeiT at 224 (sections 4.2 and 5): DeiT is faster",
               deit_pairs(), exceeds_one),
      make.all("ViG-H surpasses the SSM-based S4ND and VMamba in throughput", scan_pairs(),
               exceeds_one),
      make.all("ViG-H matches ConvNeXt and Swin in throughput", convolution_pairs(), matches_one)};
}

std::vector<Claim> accuracy_claims() {
  const auto gain = [](const char* a, const char* b) {
    return fmt::format("{:+.1f} %", std::stod(std::string(paper_row(a).accuracy)) -
                                        std::stod(std::string(paper_row(b).accuracy)));
  };
  std::vector<Claim> list;
  for (const auto& [a, b] :
       {std::pair("ViG-S", "DeiT-S"), std::pair("ViG-S", "DeiT-B"), std::pair("ViG-B", "DeiT-B"),
        std::pair("ViG-B", "VRWKV-B"), std::pair("ViG-B", "S4ND-ViT-B")}) {
    list.push_back({fmt::format("accuracy of {} against {}", a, b), gain(a, b), "",
                    Verdict::kUnchecked, "needs ImageNet"});
  }
  list.push_back({"ViG-H has the best accuracy of the hierarchical models of its size", "best", "",
                  Verdict::kUnchecked, "needs ImageNet"});
  return list;
}

// ---- the image --------------------------------------------------------------------------

// "ViG-H" of "ViG-H-T".
std::string family_of(std::string_view label) {
  return std::string(label.substr(0, label.rfind('-')));
}

ChartPanel panel(PaperTable which, const char* title, const Results& results) {
  ChartPanel panel;
  panel.title = title;
  panel.x = {.label = "multiply-adds of an image", .scale = AxisScale::kLog, .ticks = {}};
  panel.y = {.label = "", .scale = AxisScale::kLog, .ticks = {}};
  panel.x.prefixes = true;
  int colours = 0;
  for (const PaperRow& paper : paper_rows()) {
    if (paper.table != which) continue;
    const Row* row = results.find(paper.label);
    if (row == nullptr || !row->number("images_per_second")) continue;
    const std::string family = family_of(paper.label);
    auto series = std::ranges::find(panel.series, family, &ChartSeries::name);
    if (series == panel.series.end()) {
      const bool own = family.starts_with("ViG");
      panel.series.push_back({family, {}, own ? 0 : ++colours, own, false});
      series = panel.series.end() - 1;
    }
    series->points.emplace_back(multiply_adds(*row).value_or(0), *row->number("images_per_second"));
  }
  for (ChartSeries& series : panel.series) std::ranges::sort(series.points);
  return panel;
}

// The paper's figure 1: its printed accuracy by our count of parameters.
ChartPanel accuracy_panel(PaperTable which, const char* title, const Results& results) {
  ChartPanel drawn = panel(which, title, results);
  drawn.x = {.label = "parameters", .scale = AxisScale::kLog, .ticks = {}, .prefixes = true};
  drawn.y = {.label = "", .unit = "%"};
  for (ChartSeries& series : drawn.series) {
    series.points.clear();
    for (const PaperRow& paper : paper_rows()) {
      if (paper.table != which || family_of(paper.label) != series.name) continue;
      const Value count = results.number(paper.label, "parameters");
      if (count) series.points.emplace_back(*count, parse_printed(paper.accuracy).value);
    }
    std::ranges::sort(series.points);
  }
  return drawn;
}

}  // namespace

std::string throughput_pair_key(std::string_view ours, std::string_view other) {
  return fmt::format("pairs/{}:{}", ours, other);
}

std::vector<ThroughputPair> throughput_pairs() {
  Pairs all = {{"ViG-S", "DeiT-B"}};
  for (const auto* pairs :
       {&sequence_pairs(), &deit_pairs(), &scan_pairs(), &convolution_pairs()}) {
    all.insert(all.end(), pairs->begin(), pairs->end());
  }
  return all;
}

std::vector<std::string> other_models() {
  std::vector<std::string> names;
  for (const ModelSpec& spec : model_zoo()) {
    const bool known = std::ranges::any_of(paper_rows(), [&](const PaperRow& row) {
      return row.model == spec.name && row.fields.empty();
    });
    if (spec.config->task() != ModelTask::kClassify) continue;
    if (known || spec.imported || spec.name.starts_with("test_") || spec.name.starts_with("gla_"))
      continue;
    names.push_back(spec.name);
  }
  return names;
}

std::string throughput_summary(const Row& row) {
  if (const auto pair = pair_ratio(&row)) return interval_text(pair) + " as fast";
  return fmt::format("{} parameters, {} multiply-adds, {} images/s",
                     millions_text(row.number("parameters")), giga_text(multiply_adds(row)),
                     speed_text(row.number("images_per_second")));
}

Presentation present_throughput(const Results& results) {
  Chart chart;
  chart.title = "Images per second and accuracy of the models of the paper's tables";
  chart.subtitle = conditions_sentence(results);
  chart.panels = {
      panel(PaperTable::kPlain, "Plain models", results),
      panel(PaperTable::kHierarchical, "Hierarchical models", results),
      accuracy_panel(PaperTable::kPlain, "Top 1 as printed (figure 1 a)", results),
      accuracy_panel(PaperTable::kHierarchical, "Top 1 as printed (figure 1 b)", results)};
  chart.panel_width = 320;
  chart.panel_height = 300;
  chart.layout = ChartLayout::kRowLegends;
  chart.note =
      "Batch 1, each model at its own size; the fastest quarter of the runs. Made by: vig study "
      "throughput";
  std::string text = conditions_sentence(results);
  text += "\n\nPlain models:\n\n" + table(PaperTable::kPlain, results);
  text += "\nHierarchical models:\n\n" + table(PaperTable::kHierarchical, results);
  text += other_table(results);
  const std::vector<Claim> speed = speed_claims(results), accuracy = accuracy_claims();
  text += "\nClaims about throughput and cost, batch 1 here and 256 in the paper:\n\n" +
          claims_markdown(speed);
  text += "\nClaims about accuracy:\n\n" + claims_markdown(accuracy);
  std::vector<Claim> claims = speed;
  claims.insert(claims.end(), accuracy.begin(), accuracy.end());
  return {chart_svg(chart), text, claims};
}

}  // namespace vig::study
