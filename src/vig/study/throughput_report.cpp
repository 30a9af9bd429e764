#include "vig/study/throughput_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "vig/models/family.h"
#include "vig/study/claims.h"
#include "vig/study/paper_tables.h"
#include "vig/tasks/chart.h"

namespace vig::study {
namespace {

using Value = std::optional<double>;

constexpr double kMatches = 0.9;  // of the other's images/s

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
  if (rounds_to(*here, printed)) return fmt::format("{}", verdict_text(Verdict::kHolds));
  if (truncates_to(*here, printed)) {
    return fmt::format("{} (cut off instead of rounded)", verdict_text(Verdict::kFails));
  }
  return fmt::format("{} ({:+.1f} %)", verdict_text(Verdict::kFails),
                     100 * (parse_printed(printed).value / *here - 1));
}

std::string flops_verdict(const PaperRow& paper, const Row& row) {
  const std::string printed = printed_flops(paper);
  const Value here = multiply_adds(row), baselines = row.number("baselines_multiply_adds"),
              uncounted = row.number("without_down_proj");
  if (printed.empty() || !here || !baselines || !uncounted) return "";
  if (rounds_to(*here, printed)) return fmt::format("{}", verdict_text(Verdict::kHolds));
  if (rounds_to(*baselines, printed)) {
    return fmt::format("{} (with {} by its authors' count)", verdict_text(Verdict::kHolds),
                       giga_text(baselines));
  }
  std::string detail = fmt::format("{:+.1f} %", 100 * (parse_printed(printed).value / *here - 1));
  if (*baselines > *here) detail += fmt::format("; {} by its authors' count", giga_text(baselines));
  if (*uncounted < *here) detail += fmt::format("; {} without down_proj", giga_text(uncounted));
  return fmt::format("{} ({})", verdict_text(Verdict::kFails), detail);
}

std::vector<std::string> table_row(const PaperRow& paper, const Results& results) {
  std::vector<std::string> cells = {std::string(paper.label), fmt::format("{}", paper.size)};
  const Row* found = results.find(paper.label);
  const Row row = found == nullptr ? Row() : *found;
  std::string verdict;
  if (found == nullptr) {
    verdict = fmt::format(
        "**{}**{}", verdict_text(is_built(paper) ? Verdict::kNotMeasured : Verdict::kNotBuilt),
        is_built(paper) ? "" : ": this network is not built");
  } else {
    const std::string params = params_verdict(paper, row), flops = flops_verdict(paper, row);
    if (!params.empty()) verdict += "parameters: **" + params + "**";
    if (!flops.empty()) {
      verdict += (verdict.empty() ? "" : "; ") + std::string("FLOPs: **") + flops + "**";
    }
    if (!paper.remark.empty()) verdict += fmt::format(": {}", paper.remark);
  }
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

  Value speed(std::string_view a, std::string_view b) const {
    return ratio(results_.number(a, "images_per_second"), results_.number(b, "images_per_second"));
  }

  // `a` is at least `printed` times as fast as `b`, to the printed digit.
  Claim faster(std::string text, std::string_view a, std::string_view b, double printed) const {
    const Value here = speed(a, b);
    const std::optional<bool> holds = here ? std::optional(*here >= printed - 0.05) : std::nullopt;
    return {std::move(text), fmt::format("{:.1f}x", printed), ratio_text(here),
            is_built(paper_row(b)) ? verdict_of(holds) : Verdict::kNotBuilt};
  }

  // Each pair in turn: the first has at least `share` of the second's images/s.
  Claim all(std::string text, std::vector<std::pair<const char*, const char*>> pairs, double share,
            bool below = false) const {
    Claim claim{std::move(text), "", "", Verdict::kNotMeasured};
    std::optional<bool> holds;
    bool missing = false;
    for (const auto& [a, b] : pairs) {
      if (!is_built(paper_row(b))) continue;
      const Value here = speed(a, b);
      missing = missing || !here;
      if (!here) continue;
      holds = holds.value_or(true) && (below ? *here < share : *here >= share);
      claim.here +=
          fmt::format("{}{} / {}: {}", claim.here.empty() ? "" : "; ", a, b, ratio_text(here));
      claim.paper +=
          fmt::format("{}{}", claim.paper.empty() ? "" : "; ", ratio_text(paper_speed(a, b)));
    }
    // One counter-example is enough; for the rest all must be there.
    claim.verdict = missing && holds.value_or(true) ? Verdict::kNotMeasured : verdict_of(holds);
    return claim;
  }

  // A cost of ViG-S as a share of DeiT-B's.
  Claim share(std::string text, double printed, const std::function<Value(const Row&)>& cost,
              std::string remark) const {
    const Row *small = results_.find("ViG-S"), *large = results_.find("DeiT-B");
    const Value here =
        small != nullptr && large != nullptr ? ratio(cost(*small), cost(*large)) : std::nullopt;
    return {std::move(text), percent_text(printed), percent_text(here),
            verdict_of(here ? std::optional(*here < printed + 0.005) : std::nullopt),
            std::move(remark)};
  }

  std::string uncounted_share() const {
    const Row *small = results_.find("ViG-S"), *large = results_.find("DeiT-B");
    if (small == nullptr || large == nullptr) return "";
    return fmt::format(
        "{} when ViG-S is counted without down_proj",
        percent_text(ratio(small->number("without_down_proj"), multiply_adds(*large))));
  }

 private:
  const Results& results_;
};

std::vector<Claim> speed_claims(const Results& results) {
  const Claims make(results);
  return {
      make.share(
          "ViG-S uses only 27 % of DeiT-B's parameters", 0.27,
          [](const Row& row) { return row.number("parameters"); }, ""),
      make.share("ViG-S uses only 20 % of DeiT-B's FLOPs", 0.20, multiply_adds,
                 make.uncounted_share()),
      make.faster("ViG-S runs 2x faster than DeiT-B", "ViG-S", "DeiT-B", 2.0),
      make.faster("ViG-T is 1.8x faster than Vim-T", "ViG-T", "Vim-T", 1.8),
      make.faster("ViG-S is 1.6x faster than Vim-S", "ViG-S", "Vim-S", 1.6),
      make.faster("ViG-T is 5.2x faster than LocalVim-T", "ViG-T", "LocalVim-T", 5.2),
      make.faster("ViG-T is 4.6x faster than PlainMamba-L1", "ViG-T", "PlainMamba-L1", 4.6),
      make.all("ViG surpasses other linear-complexity sequence models of its size in throughput",
               {{"ViG-T", "Vim-T"},
                {"ViG-T", "VRWKV-T"},
                {"ViG-T", "LocalVim-T"},
                {"ViG-T", "PlainMamba-L1"},
                {"ViG-S", "Vim-S"},
                {"ViG-S", "VRWKV-S"},
                {"ViG-S", "LocalVim-S"},
                {"ViG-S", "PlainMamba-L2"},
                {"ViG-B", "VRWKV-B"},
                {"ViG-B", "PlainMamba-L3"},
                {"ViG-B", "S4ND-ViT-B"}},
               1),
      make.all("ViG is only slightly slower than DeiT at 224",
               {{"ViG-T", "DeiT-T"}, {"ViG-S", "DeiT-S"}, {"ViG-B", "DeiT-B"}}, 1, true),
      make.all("ViG-H surpasses VMamba in throughput",
               {{"ViG-H-T", "VMamba-T"}, {"ViG-H-S", "VMamba-S"}, {"ViG-H-B", "VMamba-B"}}, 1),
      make.all(fmt::format("ViG-H matches ConvNeXt and Swin in throughput (at least {} of it)",
                           percent_text(kMatches)),
               {{"ViG-H-T", "ConvNeXt-T"},
                {"ViG-H-S", "ConvNeXt-S"},
                {"ViG-H-B", "ConvNeXt-B"},
                {"ViG-H-T", "Swin-T"},
                {"ViG-H-S", "Swin-S"},
                {"ViG-H-B", "Swin-B"}},
               kMatches)};
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
    list.push_back(
        {fmt::format("accuracy of {} against {}", a, b), gain(a, b), "", Verdict::kNeedsImageNet});
  }
  list.push_back({"ViG-H has the best accuracy of the hierarchical models of its size", "best", "",
                  Verdict::kNeedsImageNet});
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

}  // namespace

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
  return fmt::format("{} parameters, {} multiply-adds, {} images/s",
                     millions_text(row.number("parameters")), giga_text(multiply_adds(row)),
                     speed_text(row.number("images_per_second")));
}

Presentation present_throughput(const Results& results) {
  Chart chart;
  chart.title = "Images per second of the models of the paper's tables";
  chart.subtitle = conditions_sentence(results);
  chart.panels = {panel(PaperTable::kPlain, "Plain models", results),
                  panel(PaperTable::kHierarchical, "Hierarchical models", results)};
  chart.panel_width = 420;
  chart.panel_height = 300;
  chart.layout = ChartLayout::kRowLegends;
  chart.note =
      "Batch 1, each model at its own size; the fastest quarter of the runs. Made by: vig study "
      "throughput";
  std::string text = conditions_sentence(results);
  text += "\n\nPlain models:\n\n" + table(PaperTable::kPlain, results);
  text += "\nHierarchical models:\n\n" + table(PaperTable::kHierarchical, results);
  text += other_table(results);
  text += "\nClaims about throughput and cost, batch 1 here and 256 in the paper:\n\n" +
          claims_markdown(speed_claims(results));
  text += "\nClaims about accuracy:\n\n" + claims_markdown(accuracy_claims());
  return {chart_svg(chart), text};
}

}  // namespace vig::study
