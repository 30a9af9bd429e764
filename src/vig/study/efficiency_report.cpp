#include "vig/study/efficiency_report.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <ranges>

#include "vig/models/family.h"
#include "vig/study/bench_row.h"
#include "vig/study/claims.h"
#include "vig/study/counting.h"
#include "vig/study/paper_tables.h"
#include "vig/tasks/chart.h"

namespace vig::study {
namespace {

using Value = std::optional<double>;

constexpr int kClaimed = 1024;  // the size that the paper's sentences are about

// Indices in contenders().
enum : size_t { kVig, kDeit, kStored, kEager, kVim, kVrwkv, kRuntime };

const Contender& contender(size_t index) { return contenders()[index]; }

// The three quantities of the figure.
enum class Quantity { kMultiplyAdds, kBytes, kSeconds };

// Multiply-adds of DeiT-T, whatever computes it.
bool is_again(size_t who) { return who == kStored || who == kEager || who == kRuntime; }

class Figure {
 public:
  explicit Figure(const Results& results) : results_(results) {}

  Value value(size_t who, int size, Quantity quantity) const {
    const Row* row = results_.find(efficiency_key(contender(who), size));
    if (row == nullptr) return std::nullopt;
    switch (quantity) {
      case Quantity::kMultiplyAdds:
        if (!row->number("dense_multiply_adds")) return std::nullopt;
        return *row->number("dense_multiply_adds") + row->number("scan_multiply_adds").value_or(0);
      case Quantity::kBytes:
        return row->number("process_bytes");
      case Quantity::kSeconds:
        if (!row->number("best_ms")) return std::nullopt;
        return 1e-3 * *row->number("best_ms");
    }
    return std::nullopt;
  }

  // How many times as much `who` takes as ViG-T.
  Value factor(size_t who, int size, Quantity quantity) const {
    if (who == kRuntime && quantity == Quantity::kSeconds) {  // both took turns
      const std::string key = efficiency_key(contender(who), size);
      return ratio(results_.number(key, "best_ms"), results_.number(key, "vig_t_ms"));
    }
    return ratio(value(who, size, quantity), value(kVig, size, quantity));
  }
  // The same with what it is known to: of a pair that took turns, or with the spread of both rows.
  std::optional<Interval> interval(size_t who, int size, Quantity quantity) const {
    if (quantity != Quantity::kSeconds) {
      const Value exact = factor(who, size, quantity);
      return exact ? std::optional(Interval{*exact, *exact, *exact}) : std::nullopt;
    }
    if (const Row* pair = results_.find(efficiency_pair_key(contender(who), size))) {
      return pair_ratio(pair);
    }
    const auto spread = [&](size_t one) {
      return results_.number(efficiency_key(contender(one), size), "spread").value_or(0);
    };
    return ratio_of(value(who, size, quantity), spread(who), value(kVig, size, quantity),
                    spread(kVig));
  }
  bool in_turns(size_t who, int size) const {
    return results_.find(efficiency_pair_key(contender(who), size)) != nullptr;
  }
  // The share that ViG-T saves of `who`'s.
  Value saved(size_t who, int size, Quantity quantity) const {
    const Value share = ratio(value(kVig, size, quantity), value(who, size, quantity));
    return share ? Value(1 - *share) : std::nullopt;
  }
  bool has(size_t who) const {
    for (const int size : kEfficiencySizes) {
      if (value(who, size, Quantity::kSeconds)) return true;
    }
    return false;
  }
  const Results& results() const { return results_; }

 private:
  const Results& results_;
};

// Multiply-adds of ViG-T as the paper counts them.
double paper_count(int size) {
  return static_cast<double>(
      count_ways(build_graph(find_model("vig_t"), size, size)).without_down_proj);
}

// ---- the image --------------------------------------------------------------------------

// The DeiT-T that a panel's factor compares ViG-T with.
size_t compared(const Figure& figure, Quantity quantity) {
  if (quantity == Quantity::kMultiplyAdds) return kDeit;
  if (figure.value(kRuntime, kClaimed, quantity)) return kRuntime;
  if (quantity != Quantity::kBytes) return kDeit;
  return figure.value(kEager, kClaimed, quantity) ? kEager : kStored;
}

// Its name in the label of a factor, on lines that fit beside the curves.
std::vector<std::string> compared_lines(size_t who) {
  if (who == kRuntime) return {"vs. DeiT-T in", "ONNX Runtime"};
  if (who == kStored) return {"vs. DeiT-T,", "matrix stored"};
  if (who == kEager) return {"vs. DeiT-T,", "logits stored"};
  return {"vs. " + contender(who).name};
}

ChartPanel panel(const Figure& figure, Quantity quantity, const char* title, const ChartAxis& y) {
  ChartPanel panel;
  panel.title = title;
  panel.x = {.label = "side of the image, pixels", .scale = AxisScale::kLog, .ticks = {}};
  for (const int size : kEfficiencySizes) panel.x.ticks.push_back(size);
  panel.y = y;
  constexpr int kColours[] = {0, 1, 5, 6, 2, 3, 4};
  for (size_t who = 0; who < contenders().size(); ++who) {
    // Its multiply-adds are those of the same network above.
    const bool again = quantity == Quantity::kMultiplyAdds && is_again(who);
    if (again || !figure.has(who)) continue;
    ChartSeries series{contender(who).name, {}, kColours[who], who == kVig, is_again(who)};
    for (const int size : kEfficiencySizes) {
      series.points.emplace_back(
          size,
          figure.value(who, size, quantity).value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    panel.series.push_back(std::move(series));
  }
  const size_t baseline = compared(figure, quantity);
  const Value high = figure.value(baseline, kClaimed, quantity);
  const Value low = figure.value(kVig, kClaimed, quantity);
  if (high && low && *high > *low) {
    panel.gaps.push_back({kClaimed, *high, *low,
                          ratio_text(figure.factor(baseline, kClaimed, quantity)),
                          compared_lines(baseline)});
  }
  return panel;
}

std::string image(const Figure& figure) {
  Chart chart;
  chart.title = "What an image costs, from 224 to 2048 pixels a side";
  chart.subtitle = conditions_sentence(figure.results());
  chart.panels = {
      panel(figure, Quantity::kMultiplyAdds, "Multiply-adds",
            {.label = "", .scale = AxisScale::kLog, .ticks = {}, .unit = "", .prefixes = true}),
      panel(figure, Quantity::kBytes, "Peak memory of the process",
            {.label = "", .scale = AxisScale::kLog, .ticks = {}, .unit = "B", .prefixes = true}),
      panel(figure, Quantity::kSeconds, "Time for one image",
            {.label = "", .scale = AxisScale::kLog, .ticks = {}, .unit = "s", .prefixes = true})};
  chart.note = fmt::format(
      "Batch 1. Time is the mean of the fastest quarter of the runs. The factors compare ViG-T "
      "with "
      "the named network at {} pixels. Made by: vig study efficiency",
      kClaimed);
  return chart_svg(chart);
}

// ---- the tables ---------------------------------------------------------------------------

std::string table(const Figure& figure, Quantity quantity) {
  std::vector<std::string> titles = {"side:"};
  std::vector<size_t> shown;
  for (size_t who = 0; who < contenders().size(); ++who) {
    if (quantity == Quantity::kMultiplyAdds && is_again(who)) continue;
    if (!figure.has(who) && who == kRuntime) continue;
    shown.push_back(who);
    titles.push_back(contender(who).name + ":");
    if (quantity == Quantity::kMultiplyAdds && who == kVig) {
      titles.push_back("ViG-T as the paper counts:");
    }
  }
  std::vector<std::vector<std::string>> rows;
  for (const int size : kEfficiencySizes) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(fmt::format("{}", size));
    for (const size_t who : shown) {
      const Value value = figure.value(who, size, quantity);
      row.push_back(quantity == Quantity::kMultiplyAdds ? giga_text(value)
                    : quantity == Quantity::kBytes
                        ? bytes_text(value)
                        : ms_text(value ? Value(1e3 * *value) : std::nullopt));
      if (quantity == Quantity::kMultiplyAdds && who == kVig) {
        row.push_back(giga_text(paper_count(size)));
      }
    }
  }
  return markdown_table(titles, rows);
}

// Figures without ratios: a pair's ratio is measured in turns, once.
std::string largest_batches(const Results& results) {
  std::vector<std::vector<std::string>> rows;
  for (const int size : kLargestBatchSizes) {
    for (const Contender& who : contenders()) {
      const Row* row = results.find(largest_batch_key(who, size));
      if (row == nullptr || !row->number("batch")) continue;
      rows.push_back({fmt::format("{}", size), who.name, row->text("batch"),
                      fmt::format("{:.1f}", row->number("images_per_second").value_or(0)),
                      bytes_text(row->number("process_bytes"))});
    }
  }
  const std::string title = "\nWith the largest batch that fits, at most 64 images";
  if (rows.empty()) return title + ": not measured yet.\n";
  return title + ":\n\n" +
         markdown_table({"side:", "network", "batch:", "images/s:", "memory of the process:"},
                        rows);
}

// The sizes that claims about curves are judged at: the study `throughput` has the smallest.
auto larger_sizes() { return kEfficiencySizes | std::views::drop(1); }

// ViG-T takes less than `who` at every size. Multiply-adds are exact and need no band.
Verdict always_less(const Figure& figure, size_t who, Quantity quantity) {
  std::vector<Verdict> verdicts;
  for (const int size : larger_sizes()) {
    const auto factor = figure.interval(who, size, quantity);
    const bool exact = factor && quantity == Quantity::kMultiplyAdds;
    verdicts.push_back(exact ? verdict_of(factor->value > 1) : exceeds_one(factor));
  }
  return all_of(verdicts);
}

std::string curve(const Figure& figure, size_t who, Quantity quantity) {
  std::string text;
  for (const int size : larger_sizes()) {
    const auto factor = figure.interval(who, size, quantity);
    if (!factor) continue;
    text += fmt::format("{}{} at {}", text.empty() ? "" : ", ", ratio_text(factor->value), size);
  }
  return text;
}

// Times grow apart from each size to the next.
Verdict grows(const Figure& figure) {
  std::vector<Verdict> verdicts;
  std::optional<Interval> before;
  for (const int size : larger_sizes()) {
    const auto factor = figure.interval(kDeit, size, Quantity::kSeconds);
    if (factor && before) {
      verdicts.push_back(factor->low > before->high   ? Verdict::kHolds
                         : factor->high < before->low ? Verdict::kFails
                                                      : Verdict::kUndecided);
    } else if (!factor) {
      verdicts.push_back(Verdict::kUndecided);
    }
    before = factor;
  }
  return all_of(verdicts);
}

std::vector<Claim> claims(const Figure& figure) {
  constexpr Quantity kMacs = Quantity::kMultiplyAdds, kBytes = Quantity::kBytes,
                     kTime = Quantity::kSeconds;
  const auto counted = [&](size_t who) {
    const Value macs = figure.value(who, kClaimed, kMacs);
    return macs ? fmt::format("{} when ViG-T is counted as the paper does, without down_proj",
                              ratio_text(*macs / paper_count(kClaimed)))
                : "";
  };
  const auto fewer = [&](std::string text, size_t who, const char* printed) {
    const Value here = figure.factor(who, kClaimed, kMacs);
    const Printed paper = parse_printed(printed);
    return Claim{std::move(text), fmt::format("{}x", printed), ratio_text(here),
                 verdict_of(here ? std::optional(*here > paper.value || agrees(*here, paper))
                                 : std::nullopt),
                 counted(who)};
  };
  const auto faster = [&](std::string text, size_t who, double printed) {
    const auto here = figure.interval(who, kClaimed, kTime);
    const Verdict verdict = reaches(here, printed);
    const char* how =
        figure.in_turns(who, kClaimed) ? "" : "measured one after the other, not in turns";
    return Claim{std::move(text), fmt::format("{:.1f}x", printed), interval_text(here), verdict,
                 here ? with_reason(verdict, how) : ""};
  };
  // A share saved is a factor of memory, which the band is of.
  const auto saving = [&](std::string text, size_t who, double printed, std::string remark) {
    const Value here = figure.saved(who, kClaimed, kBytes);
    return Claim{std::move(text), percent_text(printed), percent_text(here),
                 reaches(figure.interval(who, kClaimed, kBytes), 1 / (1 - printed)),
                 here ? std::move(remark) : ""};
  };
  const auto beside = [&](size_t who, const char* name) {
    const Value saved = figure.saved(who, kClaimed, kBytes);
    return saved ? fmt::format("; {} {} than {}", percent_text(std::abs(*saved)),
                               *saved < 0 ? "more" : "less", name)
                 : "";
  };
  std::string memory =
      "of DeiT-T with logits and softmax of all heads in memory, as frameworks without fused "
      "attention keep them";
  memory += beside(kDeit, "with fused attention") +
            beside(kStored, "with the matrix of one head at a time") +
            beside(kRuntime, contender(kRuntime).name.c_str());
  std::vector<Claim> list = {
      fewer("at 1024, ViG-T uses 5.2x lower FLOPs than DeiT-T", kDeit, "5.2"),
      saving("at 1024, ViG-T saves 90 % of DeiT-T's memory", kEager, 0.90, memory),
      faster("at 1024, ViG-T runs 4.8x faster than DeiT-T", kDeit, 4.8),
      fewer("ViG-T uses 1.6x lower FLOPs than Vim-T", kVim, "1.6"),
      saving("ViG-T saves 26 % of Vim-T's memory", kVim, 0.26, ""),
      faster("ViG-T runs 2.2x faster than Vim-T", kVim, 2.2)};
  for (const auto& [what, quantity] :
       {std::pair("FLOPs", kMacs), std::pair("latency", kTime), std::pair("memory", kBytes)}) {
    Claim claim{fmt::format("ViG surpasses VRWKV in terms of {}", what), "a curve",
                curve(figure, kVrwkv, quantity), always_less(figure, kVrwkv, quantity)};
    if (quantity == kMacs) claim.remark = counted(kVrwkv);
    if (quantity != kMacs && !claim.here.empty() && claim.verdict == Verdict::kUndecided) {
      claim.remark = "some sizes are within 5 % or their spread";
    }
    list.push_back(claim);
  }
  Claim growth{"the advantage over ViT grows as the resolution increases (time)", "a curve",
               curve(figure, kDeit, kTime), grows(figure)};
  if (!growth.here.empty() && growth.verdict == Verdict::kUndecided) {
    growth.remark = "intervals of neighbouring sizes overlap, or sizes are missing";
  }
  list.push_back(growth);
  return list;
}

}  // namespace

const std::vector<Contender>& contenders() {
  static const std::vector<Contender> all = {
      {"vig_t", "ViG-T", "vig_t"},
      {"deit_t", "DeiT-T", "deit_t"},
      {"deit_t-materialised",
       "DeiT-T, attention matrix stored",
       "deit_t",
       {"attention=materialised"}},
      {"deit_t-eager", "DeiT-T, logits of all heads stored", "deit_t", {"attention=eager"}},
      {"vim_t", "Vim-T", "vim_t"},
      {"vrwkv_t", "VRWKV-T", "vrwkv_t"},
      {"deit_t-onnxruntime", "DeiT-T in ONNX Runtime", "deit_t", {}, true},
  };
  return all;
}

std::string efficiency_key(const Contender& contender, int size) {
  return fmt::format("{}/{}", contender.key, size);
}

std::string largest_batch_key(const Contender& contender, int size) {
  return fmt::format("largest/{}:{}", contender.key, size);
}

std::vector<Contender> compared_contenders() {
  return {contender(kDeit), contender(kVim), contender(kVrwkv)};
}

std::string efficiency_pair_key(const Contender& contender, int size) {
  return fmt::format("pairs/{}/{}", contender.key, size);
}

std::string efficiency_summary(const Row& row) {
  if (const auto pair = pair_ratio(&row)) return "ViG-T is " + interval_text(pair) + " as fast";
  const Value dense = row.number("dense_multiply_adds");
  const double scan = row.number("scan_multiply_adds").value_or(0);
  return fmt::format("{} multiply-adds, {}, {}", giga_text(dense ? Value(*dense + scan) : dense),
                     ms_text(row.number("best_ms")), bytes_text(row.number("process_bytes")));
}

Presentation present_efficiency(const Results& results) {
  const Figure figure(results);
  std::string text = conditions_sentence(results) + "\n";
  const std::vector<Claim> judged = claims(figure);
  text += "\n" + claims_markdown(judged);
  text += "\nMultiply-adds:\n\n" + table(figure, Quantity::kMultiplyAdds);
  text += "\nTime for one image:\n\n" + table(figure, Quantity::kSeconds);
  text += "\nPeak memory of the process, weights included:\n\n" + table(figure, Quantity::kBytes);
  text += largest_batches(results);
  for (const Row& row : results.rows) {
    if (!row.note.empty()) text += fmt::format("\n{}: {}.\n", row.key, row.note);
  }
  return {image(figure), text, judged};
}

}  // namespace vig::study
