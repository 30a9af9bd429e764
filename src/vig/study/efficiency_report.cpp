#include "vig/study/efficiency_report.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "vig/models/family.h"
#include "vig/study/claims.h"
#include "vig/study/counting.h"
#include "vig/study/paper_tables.h"
#include "vig/tasks/chart.h"

namespace vig::study {
namespace {

using Value = std::optional<double>;

constexpr int kClaimed = 1024;  // the size that the paper's sentences are about

// Indices in contenders().
enum : size_t { kVig, kDeit, kStored, kVim, kVrwkv, kRuntime };

const Contender& contender(size_t index) { return contenders()[index]; }

// The three quantities of the figure.
enum class Quantity { kMultiplyAdds, kBytes, kSeconds };

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
  return quantity == Quantity::kBytes ? kStored : kDeit;
}

// Its name in the label of a factor, on lines that fit beside the curves.
std::vector<std::string> compared_lines(size_t who) {
  if (who == kRuntime) return {"vs. DeiT-T in", "ONNX Runtime"};
  if (who == kStored) return {"vs. DeiT-T,", "matrix stored"};
  return {"vs. " + contender(who).name};
}

ChartPanel panel(const Figure& figure, Quantity quantity, const char* title, const ChartAxis& y) {
  ChartPanel panel;
  panel.title = title;
  panel.x = {.label = "side of the image, pixels", .scale = AxisScale::kLog, .ticks = {}};
  for (const int size : kEfficiencySizes) panel.x.ticks.push_back(size);
  panel.y = y;
  constexpr int kColours[] = {0, 1, 5, 2, 3, 4};
  for (size_t who = 0; who < contenders().size(); ++who) {
    // Its multiply-adds are those of the same network above.
    const bool again = quantity == Quantity::kMultiplyAdds && (who == kStored || who == kRuntime);
    if (again || !figure.has(who)) continue;
    ChartSeries series{
        contender(who).name, {}, kColours[who], who == kVig, who == kStored || who == kRuntime};
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
    if (quantity == Quantity::kMultiplyAdds && (who == kStored || who == kRuntime)) continue;
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

// A figure of the paper is reached, to its last digit.
std::optional<bool> reaches(Value value, double printed, double digit) {
  if (!value) return std::nullopt;
  return *value >= printed - digit / 2;
}

// ViG-T takes less than `who` at every size that both have.
std::optional<bool> always_less(const Figure& figure, size_t who, Quantity quantity) {
  std::optional<bool> less;
  for (const int size : kEfficiencySizes) {
    const Value factor = figure.factor(who, size, quantity);
    if (factor) less = less.value_or(true) && *factor > 1;
  }
  return less;
}

std::string ends(const Figure& figure, size_t who, Quantity quantity) {
  const std::string first = ratio_text(figure.factor(who, kEfficiencySizes.front(), quantity));
  const std::string last = ratio_text(figure.factor(who, kEfficiencySizes.back(), quantity));
  if (first.empty() || last.empty()) return "";
  return fmt::format("{} at {}, {} at {}", first, kEfficiencySizes.front(), last,
                     kEfficiencySizes.back());
}

// Times grow apart from each size to the next.
std::optional<bool> grows(const Figure& figure) {
  std::optional<bool> growing;
  double before = 0;
  for (const int size : kEfficiencySizes) {
    const Value factor = figure.factor(kDeit, size, Quantity::kSeconds);
    if (!factor) continue;
    if (before > 0) growing = growing.value_or(true) && *factor > before;
    before = *factor;
  }
  return growing;
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
  const auto factor = [&](std::string text, size_t who, Quantity quantity, double printed,
                          std::string remark) {
    const Value here = figure.factor(who, kClaimed, quantity);
    return Claim{std::move(text), fmt::format("{:.1f}x", printed), ratio_text(here),
                 verdict_of(reaches(here, printed, 0.1)), std::move(remark)};
  };
  const auto saving = [&](std::string text, size_t who, double printed, std::string remark) {
    const Value here = figure.saved(who, kClaimed, kBytes);
    return Claim{std::move(text), percent_text(printed), percent_text(here),
                 verdict_of(reaches(here, printed, 0.01)), std::move(remark)};
  };
  const auto beside = [&](size_t who) {
    const Value saved = figure.saved(who, kClaimed, kBytes);
    return saved ? fmt::format("; {} {} than {}", percent_text(std::abs(*saved)),
                               *saved < 0 ? "more" : "less", contender(who).name)
                 : "";
  };
  std::string memory = "of DeiT-T with the attention matrix of one head at a time in memory";
  memory += beside(kDeit) + beside(kRuntime);
  std::string time;
  if (const Value runtime = figure.factor(kRuntime, kClaimed, kTime)) {
    time = fmt::format("{} against {}", ratio_text(runtime), contender(kRuntime).name);
  }
  std::vector<Claim> list = {
      factor("at 1024, ViG-T uses 5.2x lower FLOPs than DeiT-T", kDeit, kMacs, 5.2, counted(kDeit)),
      saving("at 1024, ViG-T saves 90 % of DeiT-T's memory", kStored, 0.90, memory),
      factor("at 1024, ViG-T runs 4.8x faster than DeiT-T", kDeit, kTime, 4.8, time),
      factor("ViG-T uses 1.6x lower FLOPs than Vim-T", kVim, kMacs, 1.6, counted(kVim)),
      saving("ViG-T saves 26 % of Vim-T's memory", kVim, 0.26, ""),
      factor("ViG-T runs 2.2x faster than Vim-T", kVim, kTime, 2.2, "")};
  for (const auto& [what, quantity] :
       {std::pair("FLOPs", kMacs), std::pair("latency", kTime), std::pair("memory", kBytes)}) {
    list.push_back({fmt::format("ViG surpasses VRWKV in terms of {}", what), "less",
                    ends(figure, kVrwkv, quantity),
                    verdict_of(always_less(figure, kVrwkv, quantity)),
                    quantity == kMacs ? counted(kVrwkv) : ""});
  }
  list.push_back({"the advantage over ViT grows as the resolution increases (time)", "grows",
                  ends(figure, kDeit, kTime), verdict_of(grows(figure)), ""});
  const Value small = figure.factor(kDeit, 224, kTime);
  list.push_back({"at 224, ViG is still slightly slower than DeiT",
                  ratio_text(paper_speed("ViG-T", "DeiT-T")), ratio_text(small),
                  verdict_of(small ? std::optional(*small < 1) : std::nullopt),
                  small && *small >= 1 ? "ViG-T is the faster one on this processor" : ""});
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
      {"vim_t", "Vim-T", "vim_t"},
      {"vrwkv_t", "VRWKV-T", "vrwkv_t"},
      {"deit_t-onnxruntime", "DeiT-T in ONNX Runtime", "deit_t", {}, true},
  };
  return all;
}

std::string efficiency_key(const Contender& contender, int size) {
  return fmt::format("{}/{}", contender.key, size);
}

std::string efficiency_summary(const Row& row) {
  const Value dense = row.number("dense_multiply_adds");
  const double scan = row.number("scan_multiply_adds").value_or(0);
  return fmt::format("{} multiply-adds, {}, {}", giga_text(dense ? Value(*dense + scan) : dense),
                     ms_text(row.number("best_ms")), bytes_text(row.number("process_bytes")));
}

Presentation present_efficiency(const Results& results) {
  const Figure figure(results);
  std::string text = conditions_sentence(results) + "\n";
  text += "\n" + claims_markdown(claims(figure));
  text += "\nMultiply-adds:\n\n" + table(figure, Quantity::kMultiplyAdds);
  text += "\nTime for one image:\n\n" + table(figure, Quantity::kSeconds);
  text += "\nPeak memory of the process, weights included:\n\n" + table(figure, Quantity::kBytes);
  for (const Row& row : results.rows) {
    if (!row.note.empty()) text += fmt::format("\n{}: {}.\n", row.key, row.note);
  }
  return {image(figure), text};
}

}  // namespace vig::study
