// The paper's roadmap from GLA to ViG and its table of bidirectional designs: parameters, images/s
// and memory of the full-size networks, and the accuracy of miniatures of them that are trained
// here.
//
// Rows: MODEL/cost holds the columns of `vig bench`; pairs/A:B those of two
// networks that take turns; MODEL/seedN holds `seed`, `top1` (share of the test images), `images`
// (tested) and `miniature_parameters`. The row without the merged kernel is the same network with
// two scans, which the accuracy of the last row stands for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "vig/base/error.h"
#include "vig/models/family.h"
#include "vig/study/bench_row.h"
#include "vig/study/claims.h"
#include "vig/study/list.h"
#include "vig/study/miniature.h"
#include "vig/study/paper_tables.h"
#include "vig/study/seeds.h"
#include "vig/tasks/chart.h"

namespace vig::study {
namespace {

constexpr int kSize = 224, kBatch = 8;
constexpr int kSeeds = 5;
const MiniatureTraining kTraining{};

// The row of the paper's two tables for a network.
const RoadmapRow& paper_row(std::string_view model) {
  for (const auto* rows : {&roadmap_rows(), &bidirectional_rows()}) {
    const auto found = std::ranges::find(*rows, model, &RoadmapRow::model);
    if (found != rows->end()) return *found;
  }
  fail("[roadmap] there is no row '{}'", model);
}

// The last row of the roadmap is the network of the row before with the merged kernel.
constexpr std::string_view kTwoScans = "gla_t_locality", kLast = "vig_t", kVim = "gla_t_vim";

std::vector<RoadmapRow> measured_networks() {
  std::vector<RoadmapRow> all = roadmap_rows();
  all.push_back(paper_row(kVim));
  return all;
}

// Those of different mathematics, which are trained.
std::vector<RoadmapRow> trained_networks() {
  std::vector<RoadmapRow> all = measured_networks();
  std::erase_if(all, [](const RoadmapRow& row) { return row.model == kTwoScans; });
  return all;
}

BenchRequest request_of(std::string_view model) {
  BenchRequest request;
  request.model = model;
  request.size = kSize;
  request.batch = kBatch;
  if (model == kTwoScans) request.fields = {"scan=two_pass"};
  return request;
}

// What the paper says about accuracy: the second network is better than the first. ViG against
// DeiT and GLA is the study `curve`'s.
struct Comparison {
  const char* before;
  const char* after;
  const char* sentence;
};
constexpr std::array<Comparison, 7> kComparisons = {{
    {"deit_t", "gla_t", "Causal GLA alone is less accurate than DeiT (table of the roadmap)"},
    {"gla_t", "gla_t_stem", "The improved patch embedding boosts the accuracy (section 4.5)"},
    {"gla_t_stem", "gla_t_bidirectional",
     "Direct bidirectional modeling is more accurate (table of the roadmap)"},
    {"gla_t_bidirectional", "gla_t_position",
     "Absolute position embedding is more accurate (table of the roadmap)"},
    {"gla_t_position", "gla_t_gated", "The direction-wise gate gains 0.9 % (appendix)"},
    {"gla_t_gated", "vig_t",
     "2D gating locality injection is more accurate (table of the roadmap)"},
    {"gla_t_vim", "vig_t", "ViG is more accurate than GLA_Vim (bidirectional table)"},
}};

std::string cost_key(std::string_view model) { return fmt::format("{}/cost", model); }
std::string pair_key(std::string_view before, std::string_view after) {
  return fmt::format("pairs/{}:{}", before, after);
}

// What the paper says about speed: the second network over the first.
struct SpeedComparison {
  std::string_view before, after;
  const char* sentence;
  enum class Relation { kSame, kSlower, kFaster } relation;
};
constexpr std::array<SpeedComparison, 6> kSpeeds = {{
    {"gla_t", "gla_t_stem",
     "The improved patch embedding has nearly no effect on efficiency (section 4.5): throughput",
     SpeedComparison::Relation::kSame},
    {"gla_t_stem", "gla_t_bidirectional", "Both directions cost throughput (table of the roadmap)",
     SpeedComparison::Relation::kSlower},
    {"gla_t_position", "gla_t_gated",
     "The direction-wise gate does not compromise efficiency (appendix): throughput",
     SpeedComparison::Relation::kSame},
    {"gla_t_gated", "gla_t_locality", "Locality injection costs throughput (table of the roadmap)",
     SpeedComparison::Relation::kSlower},
    {"gla_t_locality", "vig_t", "The hardware-aware implementation enhances throughput by 21.9 %",
     SpeedComparison::Relation::kFaster},
    {"gla_t_vim", "vig_t", "ViG is faster than GLA_Vim (appendix)",
     SpeedComparison::Relation::kFaster},
}};

std::vector<std::string> keys(const StudyOptions& options) {
  std::vector<std::string> keys;
  for (const RoadmapRow& row : measured_networks()) keys.push_back(cost_key(row.model));
  for (const SpeedComparison& c : kSpeeds) keys.push_back(pair_key(c.before, c.after));
  // Seed by seed: a run that is stopped leaves whole pairs.
  for (int seed = 1; seed <= seed_count(options, kSeeds); ++seed) {
    for (const RoadmapRow& row : trained_networks()) keys.push_back(seed_key(row.model)(seed));
  }
  return keys;
}

std::vector<Column> columns() {
  std::vector<Column> all = bench_columns();
  all.insert(all.end(), pair_columns().begin(), pair_columns().end());
  for (const char* name : {"miniature_parameters", "seed", "top1", "images"}) {
    all.push_back({name});
  }
  return all;
}

Row measure(const std::string& key, const StudyContext& context) {
  Row row;
  for (const SpeedComparison& c : kSpeeds) {
    if (key != pair_key(c.before, c.after)) continue;
    measure_pair(request_of(c.after), request_of(c.before), context, row);
    return row;
  }
  const size_t slash = key.find('/');
  const std::string model(paper_row(key.substr(0, slash)).model), what = key.substr(slash + 1);
  if (what == "cost") {
    measure_bench(request_of(model), context, row);
    return row;
  }
  const int seed = std::stoi(what.substr(std::string_view("seed").size()));
  const auto weights = trained_miniature(model, seed, kTraining, context) / "last.safetensors";
  const Accuracy accuracy = measure_accuracy(weights, kMiniatureSize, kTraining.test, context);
  row.set("miniature_parameters", fmt::format("{}", file_parameters(weights)));
  row.set("seed", fmt::format("{}", seed));
  row.set("top1", accuracy.top1);
  row.set("images", accuracy.images);
  return row;
}

std::string summary(const Row& row) {
  if (const auto top1 = row.number("top1")) {
    return fmt::format("{:.2f} % of {:.0f} test images", 100 * *top1,
                       row.number("images").value_or(0));
  }
  if (const auto pair = pair_ratio(&row)) return interval_text(pair) + " as fast";
  return fmt::format("{:.1f} images/s, {}", row.number("images_per_second").value_or(0),
                     bytes_text(row.number("process_bytes")));
}

Claim accuracy_claim(const Comparison& comparison, const Results& results) {
  const double paper = paper_row(comparison.after).accuracy - paper_row(comparison.before).accuracy;
  Claim claim =
      seed_claim(comparison.sentence, fmt::format("{:+.1f}", paper), results,
                 seed_key(comparison.before), seed_key(comparison.after), "top1", paper > 0);
  return claim;
}

Claim speed_claim(const SpeedComparison& c, const Results& results) {
  const auto text = [](double ratio) { return fmt::format("{:+.1f} %", 100 * (ratio - 1)); };
  const double paper =
      static_cast<double>(paper_row(c.after).throughput) / paper_row(c.before).throughput;
  Claim claim{c.sentence, text(paper), ""};
  auto change = pair_ratio(results.find(pair_key(c.before, c.after)));
  if (!change) {
    const auto number = [&](std::string_view model, const char* column) {
      return results.number(cost_key(model), column);
    };
    change =
        ratio_of(number(c.after, "images_per_second"), number(c.after, "spread").value_or(0),
                 number(c.before, "images_per_second"), number(c.before, "spread").value_or(0));
    if (change) claim.remark = "measured one after the other, not in turns";
  }
  if (!change) return claim;
  claim.here =
      fmt::format("{} ({} to {})", text(change->value), text(change->low), text(change->high));
  using enum SpeedComparison::Relation;
  if (c.relation == kSame) {
    claim.verdict = equals_one(change);
  } else if (c.relation == kSlower) {
    claim.verdict = exceeds_one(Interval{1 / change->value, 1 / change->high, 1 / change->low});
  } else {
    claim.verdict = exceeds_one(change);
  }
  // The one that has a figure in the text.
  if (c.before == kTwoScans) claim.verdict = reaches(change, paper);
  if (claim.verdict == Verdict::kUndecided) {
    claim.remark = fmt::format("the same within {:.0f} % or the spread{}{}", 100 * kBand,
                               claim.remark.empty() ? "" : "; ", claim.remark);
  }
  return claim;
}

// How many times as much memory the first network's activations take as the second's; a relation
// that the paper has.
Claim memory_claim(std::string sentence, std::string_view more, std::string_view less,
                   double printed, const Results& results) {
  const RoadmapRow &a = paper_row(more), &b = paper_row(less);
  Claim claim{std::move(sentence), fmt::format("{} MB to {} MB", b.megabytes, a.megabytes), ""};
  const auto other = results.number(cost_key(more), "activation_bytes"),
             own = results.number(cost_key(less), "activation_bytes");
  const auto factor = ratio_of(other, 0, own, 0);
  if (!factor) return claim;
  claim.here = fmt::format("{} to {} of activations", bytes_text(own), bytes_text(other));
  claim.verdict = printed > 0 ? reaches(factor, printed) : exceeds_one(factor);
  if (claim.verdict == Verdict::kUndecided) {
    claim.remark = fmt::format("the same within {:.0f} %", 100 * kBand);
  }
  return claim;
}

// Counts need no measurement.
double full_parameters(std::string_view model) {
  return static_cast<double>(build_graph(find_model(model), kSize, kSize).param_count());
}

std::vector<Claim> claims(const Results& results) {
  std::vector<Claim> all;
  const std::vector<RoadmapRow> rows = measured_networks();
  std::vector<std::string> wrong;
  for (const RoadmapRow& row : rows) {
    const double count = full_parameters(row.model);
    if (!agrees(count, row.params)) {
      wrong.push_back(
          fmt::format("{} has {:.2f}M, the paper prints {}", row.label, 1e-6 * count, row.params));
    }
  }
  all.push_back({"The rows' parameter counts (both tables)", "5.72M to 6.70M",
                 fmt::format("{} of {} as printed", rows.size() - wrong.size(), rows.size()),
                 verdict_of(wrong.empty()), fmt::format("{}", fmt::join(wrong, "; "))});
  for (const Comparison& comparison : kComparisons) {
    all.push_back(accuracy_claim(comparison, results));
  }
  for (const SpeedComparison& comparison : kSpeeds) {
    all.push_back(speed_claim(comparison, results));
  }
  all.push_back(memory_claim("The hardware-aware implementation saves 13.3 % of memory", kTwoScans,
                             kLast, 1 / (1 - 0.133), results));
  all.push_back(memory_claim("ViG is more memory-efficient than GLA_Vim (appendix)", kVim, kLast, 0,
                             results));
  all.push_back(memory_claim("Both directions cost memory (table of the roadmap)",
                             "gla_t_bidirectional", "gla_t_stem", 0, results));
  return all;
}

std::vector<std::string> table_row(const RoadmapRow& paper, const Results& results) {
  const std::string key = cost_key(paper.model);
  const std::string_view trained = paper.model == kTwoScans ? kLast : paper.model;
  const auto images = results.number(key, "images_per_second");
  const double count = full_parameters(paper.model);
  const auto small = results.number(seed_key(trained)(1), "miniature_parameters");
  return {fmt::format("{} `{}`", paper.label, paper.model),
          std::string(paper.params),
          fmt::format("{:.2f}M", 1e-6 * count),
          fmt::format("{}", paper.throughput),
          images ? fmt::format("{:.0f}", *images) : "",
          fmt::format("{} MB", paper.megabytes),
          bytes_text(results.number(key, "activation_bytes")),
          fmt::format("{:.1f}", paper.accuracy),
          seeds_text(seed_values(results, seed_key(trained), "top1")),
          small ? fmt::format("{:.3f}M", 1e-6 * *small) : ""};
}

Presentation present(const Results& results) {
  std::vector<std::vector<std::string>> rows;
  for (const RoadmapRow& paper : roadmap_rows()) rows.push_back(table_row(paper, results));
  rows.push_back(table_row(paper_row(kVim), results));
  ChartSeries paper{.name = "mean", .points = {}};
  paper.strong = true;
  ChartSeries here = paper, least{.name = "lowest seed", .points = {}};
  least.dashed = true;
  ChartSeries most = least;
  most.name = "highest seed";
  double position = 1;
  for (const RoadmapRow& row : trained_networks()) {
    if (row.model == kVim) continue;
    paper.points.emplace_back(position, row.accuracy);
    const std::vector<double> top1 = seed_values(results, seed_key(row.model), "top1");
    if (!top1.empty()) {
      const auto [low, high] = std::ranges::minmax(top1);
      const double sum = std::accumulate(top1.begin(), top1.end(), 0.0);
      here.points.emplace_back(position, 100 * sum / static_cast<double>(top1.size()));
      least.points.emplace_back(position, 100 * low);
      most.points.emplace_back(position, 100 * high);
    }
    ++position;
  }
  Presentation shown;
  shown.claims = claims(results);
  shown.markdown =
      conditions_sentence(results) + "\n" +
      training_sentence(results.conditions.settings, kTraining) + "\n" +
      fmt::format(
          "Throughput and memory (activations) here: {0} x {0}, batch {1}. The paper's: one "
          "RTX 4090, batch 256; its accuracy is ImageNet's. Locality without and with the "
          "hardware-aware implementation is one network, with two scans and with the merged "
          "kernel, and is trained once. Differences of accuracy are means over paired seeds with "
          "95 % intervals of Student's t distribution.\n\n",
          kSize, kBatch) +
      markdown_table(
          {"row", "parameters, paper:", "here:", "images/s, paper:", "here:", "memory, paper:",
           "here:", "top-1, paper:", "miniature here:", "its parameters:"},
          rows) +
      "\n" + claims_markdown(shown.claims);
  Chart chart;
  chart.title = "From GLA to ViG: top-1 accuracy, row by row";
  chart.subtitle =
      "1 DeiT, 2 GLA, 3 + patch embedding, 4 + both directions, 5 + position, 6 + direction-wise "
      "gate, 7 + locality = ViG";
  const ChartAxis x{.label = "row of the roadmap", .ticks = {1, 2, 3, 4, 5, 6, 7}};
  chart.panels.push_back({"the paper: full size, ImageNet", x, {.unit = "%"}, {paper}});
  chart.panels.push_back({"here: trained miniatures", x, {.unit = "%"}, {here, least, most}});
  shown.svg = chart_svg(chart);
  return shown;
}

}  // namespace

Study roadmap_study() {
  Study study;
  study.name = "roadmap";
  study.sentence =
      "The changes from GLA to ViG: parameters, images/s, memory, and accuracy of trained "
      "miniatures.";
  study.arguments = " --data cifar10.tar.gz";
  study.duration = "5 hours";
  study.columns = columns();
  study.keys = keys;
  study.portable = [](const std::string& key) { return key.find("/seed") != std::string::npos; };
  study.measure = measure;
  study.summary = summary;
  study.present = present;
  study.settings = [](const StudyOptions& options) {
    return training_settings(options, kTraining);
  };
  return study;
}

}  // namespace vig::study
