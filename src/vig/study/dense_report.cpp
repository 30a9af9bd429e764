#include "vig/study/dense_report.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "vig/models/family.h"
#include "vig/study/claims.h"
#include "vig/study/paper_tables.h"
#include "vig/tasks/chart.h"

namespace vig::study {
namespace {

using Value = std::optional<double>;

constexpr std::array kSizes = {"T", "S", "B"};

// One half of the paper's table.
struct Task {
  ModelTask kind;
  const char* head;  // behind the name of the backbone
  const char* title;
  const char* time;  // title of its column
  std::vector<std::string> measures;
  const std::vector<DenseRow>& rows;
  const char* needs;  // for its accuracy

  std::string model(std::string_view backbone) const { return fmt::format("{}{}", backbone, head); }
  const DenseRow& row(std::string_view label) const { return dense_row(rows, label); }
};

const std::array<Task, 2>& tasks() {
  static const std::array<Task, 2> both = {Task{ModelTask::kDetect,
                                                "_maskrcnn",
                                                "Object detection, Mask R-CNN at 800 x 1344",
                                                "time here, 1000 proposals to 100 masks:",
                                                {"AP of boxes, paper:", "AP of masks, paper:"},
                                                coco_rows(),
                                                "needs COCO"},
                                           Task{ModelTask::kSegment,
                                                "_upernet",
                                                "Semantic segmentation, UperNet at 512 x 512",
                                                "time here, a window:",
                                                {"mIoU, paper:"},
                                                ade20k_rows(),
                                                "needs ADE20K"}};
  return both;
}

// The paper prints one digit after the point.
std::string giga(Value count) { return count ? fmt::format("{:.2f} G", 1e-9 * *count) : ""; }
std::string or_dash(std::string_view text) { return text.empty() ? "-" : std::string(text); }
std::string bold(std::string_view text) { return fmt::format("**{}**", text); }

class Figures {
 public:
  explicit Figures(const Results& results) : results_(results) {}

  Value count(const std::string& model, const std::string& column) const {
    return results_.number(counts_key(model), column);
  }
  Value count(const Task& task, std::string_view label, const std::string& column) const {
    return count(task.model(task.row(label).backbone), column);
  }
  // Why there is no time, where the row says so.
  std::string time(const std::string& model) const {
    const Row* row = results_.find(time_key(model));
    if (row == nullptr) return "not measured yet";
    return row->note.empty() ? ms_text(row->number("best_ms")) : row->note;
  }

 private:
  const Results& results_;
};

// ---- tables -------------------------------------------------------------------------------

std::string params_verdict(const DenseRow& paper, Value here, Value with_classifier) {
  if (agrees(*here, paper.params)) return bold(verdict_text(Verdict::kHolds));
  const std::string text = bold(verdict_text(Verdict::kFails));
  if (with_classifier && agrees(*with_classifier, paper.params)) {
    return fmt::format("{} ({} with the classifier, which is not used)", text,
                       millions_text(with_classifier));
  }
  return fmt::format("{} ({:+.1f} %)", text, 100 * (parse_printed(paper.params).value / *here - 1));
}

std::string flops_verdict(const DenseRow& paper, Value as_the_paper, Value whole) {
  std::string text = bold(verdict_text(Verdict::kHolds)) + " as it counts";
  if (!agrees(*as_the_paper, paper.flops)) {
    text = fmt::format("{} as it counts ({:+.1f} %)", bold(verdict_text(Verdict::kFails)),
                       100 * (parse_printed(paper.flops).value / *as_the_paper - 1));
  }
  const double missed = 1 - *as_the_paper / *whole;
  return fmt::format("{}, {:.0f} % are {}", text, 100 * std::abs(missed),
                     missed < 0 ? "counted too much" : "left out");
}

std::string verdict_of_row(const Task& task, const DenseRow& paper, const Figures& figures) {
  const std::string model = task.model(paper.backbone);
  const Value params = figures.count(model, "backbone_parameters"),
              counted = figures.count(model, "as_the_paper"),
              whole = figures.count(model, "with_what_it_misses");
  if (!params || !counted || !whole) return verdict_markdown(Verdict::kUndecided, "");
  const std::string accuracy = "accuracy: " + verdict_markdown(Verdict::kUnchecked, task.needs);
  if (paper.params.empty()) return accuracy + "; its authors use no adapter";
  return fmt::format("parameters: {}; FLOPs: {}; {}",
                     params_verdict(paper, params, figures.count(model, "with_unused_classifier")),
                     flops_verdict(paper, counted, whole), accuracy);
}

std::string paper_table_of(const Task& task, const Figures& figures) {
  std::vector<std::vector<std::string>> rows;
  for (const DenseRow& paper : task.rows) {
    const std::string model = task.model(paper.backbone);
    std::vector<std::string>& cells = rows.emplace_back();
    cells = {std::string(paper.label),
             or_dash(paper.params),
             millions_text(figures.count(model, "backbone_parameters")),
             millions_text(figures.count(model, "parameters")),
             or_dash(paper.flops),
             giga(figures.count(model, "as_the_paper")),
             giga(figures.count(model, "with_what_it_misses")),
             figures.time(model),
             std::string(paper.first)};
    if (task.measures.size() > 1) cells.emplace_back(paper.second);
    cells.push_back(verdict_of_row(task, paper, figures));
  }
  std::vector<std::string> titles = {
      "backbone",      "parameters, paper:", "here:",     "with heads, here:",
      "FLOPs, paper:", "counted alike:",     "complete:", task.time};
  titles.insert(titles.end(), task.measures.begin(), task.measures.end());
  titles.emplace_back("verdict");
  return markdown_table(titles, rows);
}

std::string other_table(const Task& task, const Figures& figures) {
  std::vector<std::vector<std::string>> rows;
  const std::set<std::string> known = paper_backbones();
  for (const std::string& model : dense_models()) {
    if (find_model(model).config->task() != task.kind || known.contains(backbone_of(model))) {
      continue;
    }
    const Value params = figures.count(model, "backbone_parameters");
    if (!params) continue;
    rows.push_back({fmt::format("`{}`", model), millions_text(params),
                    millions_text(figures.count(model, "parameters")),
                    giga(figures.count(model, "as_the_paper")),
                    giga(figures.count(model, "with_what_it_misses")), figures.time(model)});
  }
  if (rows.empty()) return "";
  return "\nOther networks, which the paper does not have, without an adapter:\n\n" +
         markdown_table({"network", "parameters of the backbone:", "with heads:",
                         "FLOPs, counted alike:", "complete:", task.time},
                        rows);
}

// ---- claims -------------------------------------------------------------------------------

// Our share of what a baseline counts in the same adapter.
Value share(const Task& task, const Figures& figures, const std::string& ours,
            std::string_view peer, const std::string& column) {
  return ratio(figures.count(task, ours, column), figures.count(task, peer, column));
}

Value printed_share(const Task& task, std::string_view ours, std::string_view peer) {
  return ratio(parse_printed(task.row(ours).flops).value,
               parse_printed(task.row(peer).flops).value);
}

void add(std::string& list, const std::string& text) { list += (list.empty() ? "" : "; ") + text; }

// Every size needs fewer FLOPs than its baseline. Counts are exact and need no band.
Claim cheaper(const Task& task, const Figures& figures, const char* where, const char* peer) {
  Claim claim{fmt::format("{}: ViG outperforms {} in terms of FLOPs", where, peer), "", ""};
  std::vector<Verdict> verdicts;
  std::string alike;
  for (const char* size : kSizes) {
    const std::string ours = fmt::format("ViG-{}", size), other = fmt::format("{}-{}", peer, size);
    add(claim.paper, ratio_text(printed_share(task, ours, other)));
    const Value here = share(task, figures, ours, other, "with_what_it_misses");
    verdicts.push_back(verdict_of(here ? std::optional(*here < 1) : std::nullopt));
    if (!here) continue;
    add(claim.here, fmt::format("{}: {}", size, ratio_text(here)));
    add(alike, ratio_text(share(task, figures, ours, other, "as_the_paper")));
  }
  claim.verdict = all_of(verdicts);
  if (!alike.empty()) claim.remark = alike + " as the paper counts";
  if (claim.verdict == Verdict::kUndecided) claim.remark = "";
  return claim;
}

// "ViG-S surpasses ViT-S by 14G FLOPs."
Claim fewer(const Figures& figures, const std::string& ours, const char* peer,
            const std::string& printed) {
  const Task& task = tasks()[1];
  const auto gap = [&](const char* column) {
    const Value here = figures.count(task, ours, column), other = figures.count(task, peer, column);
    return here && other ? Value(*other - *here) : std::nullopt;
  };
  const auto text = [](Value value) { return value ? fmt::format("{:.1f} G", 1e-9 * *value) : ""; };
  const Value here = gap("with_what_it_misses");
  const Printed paper = parse_printed(printed);
  return {
      fmt::format("ADE20K: {} needs {} FLOPs less than {}", ours, printed, peer), printed,
      text(here),
      verdict_of(here ? std::optional(*here > paper.value || agrees(*here, paper)) : std::nullopt),
      here ? text(gap("as_the_paper")) + " as the paper counts" : ""};
}

// A share of ViT's FLOPs that the text names, of detection: at most `printed` percent. `lower`:
// the text says how much is saved.
Claim share_of_vit(const Figures& figures, std::string text, const std::string& ours,
                   const char* peer, double printed, bool lower) {
  const Task& task = tasks()[0];
  const auto percent = [&](Value value) {
    return value ? Value(100 * (lower ? 1 - *value : *value)) : value;
  };
  const auto shown = [&](Value value) { return value ? fmt::format("{:.0f} %", *value) : ""; };
  const Value here = percent(share(task, figures, ours, peer, "with_what_it_misses"));
  std::optional<bool> holds;
  if (here) holds = (lower ? *here > printed : *here < printed) || agrees(*here, {printed, 1});
  return {std::move(text), shown(percent(printed_share(task, ours, peer))), shown(here),
          verdict_of(holds),
          here ? shown(percent(share(task, figures, ours, peer, "as_the_paper"))) +
                     " as the paper counts"
               : ""};
}

// Multiply-adds of a pixel at the large image, as a multiple of those at the small one.
Claim linear(const Figures& figures) {
  Claim claim{"ViG has linear complexity: FLOPs of a pixel at 800 x 1344 beside those at 512 x 512",
              "", ""};
  constexpr double kPixels = (800.0 * 1344) / (512.0 * 512);
  constexpr double kSame = 0.01;
  std::optional<bool> holds;
  const auto per_pixel = [&](Value large, Value small) {
    const Value all = ratio(large, small);
    return all ? Value(*all / kPixels) : all;
  };
  const auto counted = [&](const std::string& label) {
    return per_pixel(figures.count(tasks()[0], label, "with_what_it_misses"),
                     figures.count(tasks()[1], label, "with_what_it_misses"));
  };
  for (const char* size : kSizes) {
    const std::string ours = fmt::format("ViG-{}", size);
    add(claim.paper, ratio_text(per_pixel(parse_printed(tasks()[0].row(ours).flops).value,
                                          parse_printed(tasks()[1].row(ours).flops).value)));
    const Value here = counted(ours), vit = counted(fmt::format("ViT-{}", size));
    if (!here || !vit) return {claim.text, claim.paper, ""};
    holds = holds.value_or(true) && std::abs(*here - 1) < kSame;
    add(claim.here, ratio_text(here));
    add(claim.remark, ratio_text(vit));
  }
  claim.remark = "ViT: " + claim.remark;
  claim.verdict = verdict_of(holds);
  return claim;
}

std::vector<Claim> cost_claims(const Figures& figures) {
  return {cheaper(tasks()[0], figures, "COCO", "ViT"),
          cheaper(tasks()[0], figures, "COCO", "VRWKV"),
          share_of_vit(figures, "COCO: ViG-T uses only half the backbone FLOPs of ViT-T", "ViG-T",
                       "ViT-T", 50, false),
          share_of_vit(figures, "COCO: ViG-B has 44 % lower backbone FLOPs than ViT-B", "ViG-B",
                       "ViT-B", 44, true),
          cheaper(tasks()[1], figures, "ADE20K", "ViT"),
          cheaper(tasks()[1], figures, "ADE20K", "VRWKV"),
          fewer(figures, "ViG-T", "ViT-T", "5G"),
          fewer(figures, "ViG-T", "VRWKV-T", "1.7G"),
          fewer(figures, "ViG-S", "ViT-S", "14G"),
          fewer(figures, "ViG-S", "VRWKV-S", "6.3G"),
          linear(figures)};
}

std::vector<Claim> accuracy_claims() {
  const auto gain = [](std::string_view a, std::string_view b) {
    return fmt::format("{:+.1f}", std::stod(std::string(a)) - std::stod(std::string(b)));
  };
  std::vector<Claim> list;
  for (const char* peer : {"ViT", "VRWKV"}) {
    for (const char* size : kSizes) {
      const std::string ours = fmt::format("ViG-{}", size),
                        other = fmt::format("{}-{}", peer, size);
      const DenseRow &a = tasks()[0].row(ours), &b = tasks()[0].row(other);
      list.push_back({fmt::format("{} against {}: AP of boxes, AP of masks, mIoU", ours, other),
                      fmt::format("{}, {}, {}", gain(a.first, b.first), gain(a.second, b.second),
                                  gain(tasks()[1].row(ours).first, tasks()[1].row(other).first)),
                      "", Verdict::kUnchecked, "needs COCO and ADE20K"});
    }
  }
  return list;
}

// ---- the figure --------------------------------------------------------------------------

ChartPanel panel(const Task& task, const Figures& figures) {
  ChartPanel panel;
  panel.title = task.title;
  panel.x = {.label = "parameters of ViG's backbone", .scale = AxisScale::kLog, .ticks = {}};
  panel.x.prefixes = true;
  panel.y = {.label = "", .scale = AxisScale::kLinear, .ticks = {}};
  ChartSeries whole{"ViG, complete", {}, 0, true, false},
      counted{"ViG, as the paper counts", {}, 0, false, true},
      vrwkv{"VRWKV, complete", {}, 1, false, false}, vit{"ViT, complete", {}, 2, false, false};
  for (const char* size : kSizes) {
    const std::string ours = fmt::format("ViG-{}", size);
    const Value params = figures.count(task, ours, "backbone_parameters"),
                all = figures.count(task, ours, "with_what_it_misses"),
                seen = figures.count(task, ours, "as_the_paper");
    if (!params || !all || !seen) continue;
    const auto point = [&](ChartSeries& series, double flops) {
      series.points.emplace_back(*params, flops / *all);
    };
    point(whole, *all);
    point(counted, *seen);
    for (auto& [name, series] : {std::pair<const char*, ChartSeries&>("VRWKV", vrwkv),
                                 std::pair<const char*, ChartSeries&>("ViT", vit)}) {
      const Value other =
          figures.count(task, fmt::format("{}-{}", name, size), "with_what_it_misses");
      if (other) point(series, *other);
    }
  }
  if (!whole.points.empty()) panel.series = {whole, counted, vrwkv, vit};
  return panel;
}

}  // namespace

std::vector<std::string> dense_models() {
  std::vector<std::string> names;
  for (const ModelSpec& spec : model_zoo()) {
    const ModelTask task = spec.config->task();
    if (task != ModelTask::kSegment && task != ModelTask::kDetect) continue;
    if (!spec.name.starts_with("test_")) names.push_back(spec.name);
  }
  return names;
}

std::string backbone_of(const std::string& model) { return model.substr(0, model.rfind('_')); }

std::set<std::string> paper_backbones() {
  std::set<std::string> names;
  for (const auto* rows : {&coco_rows(), &ade20k_rows()}) {
    for (const DenseRow& row : *rows) names.emplace(row.backbone);
  }
  return names;
}

std::set<std::string> own_backbones() {
  std::set<std::string> names;
  for (const DenseRow& row : coco_rows()) {
    if (row.label.starts_with("ViG")) names.emplace(row.backbone);
  }
  return names;
}

std::string counts_key(const std::string& model) { return model + "/counts"; }
std::string time_key(const std::string& model) { return model + "/time"; }

std::string dense_summary(const Row& row) {
  if (row.number("best_ms")) return ms_text(row.number("best_ms"));
  if (!row.note.empty()) return row.note;
  return fmt::format("{} parameters, {} of them in the backbone; {} there, {} as the paper counts",
                     millions_text(row.number("parameters")),
                     millions_text(row.number("backbone_parameters")),
                     giga(row.number("with_what_it_misses")), giga(row.number("as_the_paper")));
}

Presentation present_dense(const Results& results) {
  const Figures figures(results);
  Chart chart;
  chart.title = "FLOPs of backbones of dense prediction, as a share of ViG's";
  chart.subtitle = conditions_sentence(results);
  chart.panel_width = 420;
  chart.panel_height = 300;
  chart.note =
      "ViG complete: with the scans, the deformable sampling and the second matrix of the FFN, "
      "which the paper's counter does not see. Made by: vig study dense";
  std::string text = conditions_sentence(results) + "\n";
  for (const Task& task : tasks()) {
    chart.panels.push_back(panel(task, figures));
    text += fmt::format("\n{}:\n\n{}{}", task.title, paper_table_of(task, figures),
                        other_table(task, figures));
  }
  std::vector<Claim> claims = cost_claims(figures);
  const std::vector<Claim> accuracy = accuracy_claims();
  text += "\nClaims about cost, both networks counted alike in the same adapter:\n\n" +
          claims_markdown(claims);
  text += "\nClaims about accuracy:\n\n" + claims_markdown(accuracy);
  claims.insert(claims.end(), accuracy.begin(), accuracy.end());
  return {chart_svg(chart), text, claims};
}

}  // namespace vig::study
