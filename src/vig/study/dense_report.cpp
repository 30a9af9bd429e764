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

  std::string model(std::string_view backbone) const { return fmt::format("{}{}", backbone, head); }
  const DenseRow& row(std::string_view label) const { return dense_row(rows, label); }
};

const std::array<Task, 2>& tasks() {
  static const std::array<Task, 2> both = {Task{ModelTask::kDetect,
                                                "_maskrcnn",
                                                "Object detection, Mask R-CNN at 800 x 1344",
                                                "time here, 1000 proposals to 100 masks:",
                                                {"AP of boxes, paper:", "AP of masks, paper:"},
                                                coco_rows()},
                                           Task{ModelTask::kSegment,
                                                "_upernet",
                                                "Semantic segmentation, UperNet at 512 x 512",
                                                "time here, a window:",
                                                {"mIoU, paper:"},
                                                ade20k_rows()}};
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
    if (row == nullptr) return std::string(verdict_text(Verdict::kNotMeasured));
    return row->note.empty() ? ms_text(row->number("best_ms")) : row->note;
  }

 private:
  const Results& results_;
};

// ---- tables -------------------------------------------------------------------------------

std::string params_verdict(const DenseRow& paper, Value here, Value with_classifier) {
  if (rounds_to(*here, paper.params)) return bold(verdict_text(Verdict::kHolds));
  const std::string text = bold(verdict_text(Verdict::kFails));
  if (with_classifier && rounds_to(*with_classifier, paper.params)) {
    return fmt::format("{} ({} with the classifier, which is not used)", text,
                       millions_text(with_classifier));
  }
  return fmt::format("{} ({:+.1f} %)", text, 100 * (parse_printed(paper.params).value / *here - 1));
}

std::string flops_verdict(const DenseRow& paper, Value as_the_paper, Value whole) {
  std::string text = bold(verdict_text(Verdict::kHolds)) + " as it counts";
  if (!rounds_to(*as_the_paper, paper.flops)) {
    text = fmt::format("{} as it counts ({:+.1f} %)", bold(verdict_text(Verdict::kFails)),
                       100 * (parse_printed(paper.flops).value / *as_the_paper - 1));
  }
  return fmt::format("{}, {:.0f} % are left out", text, 100 * (1 - *as_the_paper / *whole));
}

std::string verdict_of_row(const Task& task, const DenseRow& paper, const Figures& figures) {
  if (paper.backbone.empty()) {
    const bool counted = !paper.params.empty();
    return bold(verdict_text(Verdict::kNotBuilt)) +
           (counted ? ": not built with the adapter"
                    : ": not built for this task; its authors use no adapter, so the row is not "
                      "comparable");
  }
  const std::string model = task.model(paper.backbone);
  const Value params = figures.count(model, "backbone_parameters"),
              counted = figures.count(model, "as_the_paper"),
              whole = figures.count(model, "with_what_it_misses");
  if (!params || !counted || !whole) return bold(verdict_text(Verdict::kNotMeasured));
  return fmt::format("parameters: {}; FLOPs: {}; accuracy: {}",
                     params_verdict(paper, params, figures.count(model, "with_unused_classifier")),
                     flops_verdict(paper, counted, whole),
                     bold(verdict_text(Verdict::kNeedsScenes)));
}

std::string paper_table_of(const Task& task, const Figures& figures) {
  std::vector<std::vector<std::string>> rows;
  for (const DenseRow& paper : task.rows) {
    const bool built = !paper.backbone.empty();
    const std::string model = task.model(paper.backbone);
    std::vector<std::string>& cells = rows.emplace_back();
    cells = {std::string(paper.label),
             or_dash(paper.params),
             millions_text(figures.count(model, "backbone_parameters")),
             millions_text(figures.count(model, "parameters")),
             or_dash(paper.flops),
             giga(figures.count(model, "as_the_paper")),
             giga(figures.count(model, "with_what_it_misses")),
             built ? figures.time(model) : "",
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

// Our share of what the paper prints for a baseline.
Value share(const Task& task, const Figures& figures, const std::string& ours,
            std::string_view peer, const std::string& column) {
  return ratio(figures.count(task, ours, column), parse_printed(task.row(peer).flops).value);
}

Value printed_share(const Task& task, std::string_view ours, std::string_view peer) {
  return ratio(parse_printed(task.row(ours).flops).value,
               parse_printed(task.row(peer).flops).value);
}

void add(std::string& list, const std::string& text) { list += (list.empty() ? "" : "; ") + text; }

// Every size needs fewer FLOPs than its baseline.
Claim cheaper(const Task& task, const Figures& figures, const char* where, const char* peer) {
  Claim claim{fmt::format("{}: ViG outperforms {} in terms of FLOPs", where, peer), "", "",
              Verdict::kNotMeasured};
  std::optional<bool> holds;
  bool missing = false;
  for (const char* size : kSizes) {
    const std::string ours = fmt::format("ViG-{}", size), other = fmt::format("{}-{}", peer, size);
    add(claim.paper, ratio_text(printed_share(task, ours, other)));
    const Value here = share(task, figures, ours, other, "with_what_it_misses");
    missing = missing || !here;
    if (!here) continue;
    holds = holds.value_or(true) && *here < 1;
    add(claim.here, fmt::format("{}: {}", size, ratio_text(here)));
  }
  // One counter-example is enough; for the rest all must be there.
  claim.verdict = missing && holds.value_or(true) ? Verdict::kNotMeasured : verdict_of(holds);
  return claim;
}

// The same with VRWKV's own blocks, which the paper's counter does not see whole either.
Claim cheaper_than_vrwkv(const Task& task, const Figures& figures, const char* where) {
  Claim claim = cheaper(task, figures, where, "VRWKV");
  std::string exact;
  for (const char* size : kSizes) {
    const std::string ours = fmt::format("ViG-{}", size);
    const Value here = ratio(figures.count(task, ours, "multiply_adds"),
                             figures.count(task, ours, "with_vrwkv_blocks"));
    if (here) add(exact, ratio_text(here));
  }
  if (!exact.empty()) {
    claim.remark = fmt::format(
        "against its printed FLOPs; {} against VRWKV's blocks in the same adapter, every "
        "multiply-add of both counted",
        exact);
  }
  return claim;
}

// "ViG-S surpasses ViT-S by 14G FLOPs."
Claim fewer(const Figures& figures, const std::string& ours, const char* peer, double printed,
            int digits) {
  const Task& task = tasks()[1];
  const auto gap = [&](const char* column) {
    const Value here = figures.count(task, ours, column);
    return here ? Value(1e-9 * (parse_printed(task.row(peer).flops).value - *here)) : here;
  };
  const auto text = [](Value value) { return value ? fmt::format("{:.1f} G", *value) : ""; };
  const Value here = gap("with_what_it_misses");
  const double least = printed - (digits > 0 ? 0.05 : 0.5);
  return {fmt::format("ADE20K: {} needs {:.{}f}G FLOPs less than {}", ours, printed, digits, peer),
          fmt::format("{:.{}f}G", printed, digits), text(here),
          verdict_of(here ? std::optional(*here >= least) : std::nullopt),
          here ? text(gap("as_the_paper")) + " as the paper counts" : ""};
}

// A share of ViT's FLOPs that the text names, of detection: at most `most`.
Claim share_of_vit(const Figures& figures, std::string text, const std::string& ours,
                   const char* peer, double most, bool lower) {
  const Task& task = tasks()[0];
  const auto shown = [&](Value value) {
    return value && lower ? percent_text(1 - *value) : percent_text(value);
  };
  const Value here = share(task, figures, ours, peer, "with_what_it_misses");
  return {
      std::move(text), shown(printed_share(task, ours, peer)), shown(here),
      verdict_of(here ? std::optional(*here < most) : std::nullopt),
      here ? shown(share(task, figures, ours, peer, "as_the_paper")) + " as the paper counts" : ""};
}

// Multiply-adds of a pixel at the large image, as a multiple of those at the small one.
Claim linear(const Figures& figures) {
  Claim claim{
      "ViG processes large images at linear cost: FLOPs of a pixel at 800 x 1344 beside "
      "those at 512 x 512",
      "", "", Verdict::kNotMeasured};
  constexpr double kPixels = (800.0 * 1344) / (512.0 * 512);
  constexpr double kSame = 0.01;
  std::optional<bool> holds;
  for (const char* size : kSizes) {
    const std::string ours = fmt::format("ViG-{}", size);
    const auto per_pixel = [&](Value large, Value small) {
      const Value all = ratio(large, small);
      return all ? Value(*all / kPixels) : all;
    };
    const auto printed = [&](const Task& task, const std::string& label) {
      return parse_printed(task.row(label).flops).value;
    };
    add(claim.paper, ratio_text(per_pixel(printed(tasks()[0], ours), printed(tasks()[1], ours))));
    add(claim.remark, ratio_text(per_pixel(printed(tasks()[0], fmt::format("ViT-{}", size)),
                                           printed(tasks()[1], fmt::format("ViT-{}", size)))));
    const Value here = per_pixel(figures.count(tasks()[0], ours, "with_what_it_misses"),
                                 figures.count(tasks()[1], ours, "with_what_it_misses"));
    if (!here) return {claim.text, claim.paper, "", Verdict::kNotMeasured, ""};
    holds = holds.value_or(true) && std::abs(*here - 1) < kSame;
    add(claim.here, ratio_text(here));
  }
  claim.remark = "ViT by its printed figures: " + claim.remark;
  claim.verdict = verdict_of(holds);
  return claim;
}

std::vector<Claim> cost_claims(const Figures& figures) {
  return {cheaper(tasks()[0], figures, "COCO", "ViT"),
          cheaper_than_vrwkv(tasks()[0], figures, "COCO"),
          share_of_vit(figures, "COCO: ViG-T uses only half the backbone FLOPs of ViT-T", "ViG-T",
                       "ViT-T", 0.505, false),
          share_of_vit(figures, "COCO: ViG-B has 44 % lower backbone FLOPs than ViT-B", "ViG-B",
                       "ViT-B", 0.565, true),
          cheaper(tasks()[1], figures, "ADE20K", "ViT"),
          cheaper_than_vrwkv(tasks()[1], figures, "ADE20K"),
          fewer(figures, "ViG-T", "ViT-T", 5, 0),
          fewer(figures, "ViG-T", "VRWKV-T", 1.7, 1),
          fewer(figures, "ViG-S", "ViT-S", 14, 0),
          fewer(figures, "ViG-S", "VRWKV-S", 6.3, 1),
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
                      "", Verdict::kNeedsScenes});
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
      vrwkv{"VRWKV, as printed", {}, 1, false, false}, vit{"ViT, as printed", {}, 2, false, false};
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
    point(vrwkv, parse_printed(task.row(fmt::format("VRWKV-{}", size)).flops).value);
    point(vit, parse_printed(task.row(fmt::format("ViT-{}", size)).flops).value);
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
  for (const DenseRow& row : coco_rows()) {
    if (!row.backbone.empty()) names.emplace(row.backbone);
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
  text += "\nClaims about cost; figures of baselines are those that the paper prints:\n\n" +
          claims_markdown(cost_claims(figures));
  text += "\nClaims about accuracy:\n\n" + claims_markdown(accuracy_claims());
  return {chart_svg(chart), text};
}

}  // namespace vig::study
