// The paper's roadmap from GLA to ViG and its table of bidirectional designs: parameters, images/s
// and memory of the full-size networks, and the accuracy of miniatures of them that are trained
// here.
//
// Rows: MODEL/cost holds the columns of `vig bench` and `parameters`; MODEL/seedN holds `seed`,
// `top1` (share of the test images), `images` (tested) and `miniature_parameters`. Seeds 2 and
// 3 are trained for neighbours of the table that differ by less than 1 % with seed 1.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "vig/base/error.h"
#include "vig/models/family.h"
#include "vig/study/bench_row.h"
#include "vig/study/claims.h"
#include "vig/study/list.h"
#include "vig/study/miniature.h"
#include "vig/study/paper_tables.h"
#include "vig/tasks/chart.h"

namespace vig::study {
namespace {

constexpr int kSize = 224, kBatch = 8;
constexpr int kSeeds = 3;
constexpr double kClose = 0.01;      // rows that differ by less get three seeds
constexpr double kSameSpeed = 0.05;  // timings that differ by less are the same

// The row of the paper's two tables for a network.
const RoadmapRow& paper_row(std::string_view model) {
  for (const auto* rows : {&roadmap_rows(), &bidirectional_rows()}) {
    const auto found = std::ranges::find(*rows, model, &RoadmapRow::model);
    if (found != rows->end()) return *found;
  }
  fail("[roadmap] there is no row '{}'", model);
}

// The last row of the roadmap is the network of the row before in another implementation, so only
// the last is measured.
constexpr std::string_view kSameNetwork = "gla_t_locality", kLast = "vig_t", kVim = "gla_t_vim";

std::vector<RoadmapRow> networks() {
  std::vector<RoadmapRow> all = roadmap_rows();
  std::erase_if(all, [](const RoadmapRow& row) { return row.model == kSameNetwork; });
  all.push_back(paper_row(kVim));
  return all;
}

// What the paper says about accuracy: the second network is better than the first.
struct Comparison {
  const char* before;
  const char* after;
  const char* sentence;
};
constexpr std::array<Comparison, 9> kComparisons = {{
    {"deit_t", "gla_t", "Causal GLA alone is less accurate than DeiT (roadmap)"},
    {"gla_t", "gla_t_stem", "The improved patch embedding boosts the accuracy (roadmap)"},
    {"gla_t_stem", "gla_t_bidirectional", "Bidirectional modelling improves it (roadmap)"},
    {"gla_t_bidirectional", "gla_t_position", "Position embedding improves it (roadmap)"},
    {"gla_t_position", "gla_t_gated", "The direction-wise gate improves it (roadmap)"},
    {"gla_t_gated", "vig_t", "2-D gated locality injection improves it (roadmap)"},
    {"gla_t", "vig_t", "ViG-T significantly outperforms vanilla GLA (section 4.5)"},
    {"deit_t", "vig_t", "ViG-T significantly outperforms DeiT (section 4.5)"},
    {"gla_t_vim", "vig_t", "ViG is more accurate than GLA_Vim (bidirectional table)"},
}};

std::string cost_key(std::string_view model) { return fmt::format("{}/cost", model); }
std::string seed_key(std::string_view model, int seed) {
  return fmt::format("{}/seed{}", model, seed);
}

std::vector<std::string> keys(const StudyOptions&) {
  std::vector<std::string> keys;
  for (const RoadmapRow& row : networks()) keys.push_back(cost_key(row.model));
  for (const RoadmapRow& row : networks()) keys.push_back(seed_key(row.model, 1));
  return keys;
}

// The accuracy of one network with all seeds that are trained.
struct Accuracies {
  std::vector<double> top1;

  explicit operator bool() const { return !top1.empty(); }
  double mean() const {
    return std::accumulate(top1.begin(), top1.end(), 0.0) / static_cast<double>(top1.size());
  }
  double least() const { return *std::ranges::min_element(top1); }
  double most() const { return *std::ranges::max_element(top1); }
  std::string text() const {
    if (top1.empty()) return "";
    if (top1.size() == 1) return fmt::format("{:.1f} (1 seed)", 100 * mean());
    return fmt::format("{:.1f} ({:.1f} to {:.1f}, {} seeds)", 100 * mean(), 100 * least(),
                       100 * most(), top1.size());
  }
};

Accuracies accuracies(const Results& results, std::string_view model) {
  Accuracies all;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    if (const auto top1 = results.number(seed_key(model, seed), "top1")) all.top1.push_back(*top1);
  }
  return all;
}

// The widest range that several seeds of one network give.
double widest_range(const Results& results) {
  double widest = 0;
  for (const RoadmapRow& row : networks()) {
    if (const Accuracies all = accuracies(results, row.model)) {
      widest = std::max(widest, all.most() - all.least());
    }
  }
  return widest;
}

// Whether the ranges of two networks are apart. A single seed stands for the widest range seen.
bool apart(const Accuracies& a, const Accuracies& b, const Results& results) {
  const double widest = widest_range(results);
  const auto margin = [&](const Accuracies& all) { return all.top1.size() > 1 ? 0 : widest / 2; };
  const double gap = margin(a) + margin(b);
  return b.least() - a.most() > gap || a.least() - b.most() > gap;
}

// Further seeds of both networks of a comparison that one seed does not decide.
std::vector<std::string> further_keys(const StudyOptions&, const Results& results) {
  const auto undecided = [&](const Comparison& c) {
    const Accuracies a = accuracies(results, c.before), b = accuracies(results, c.after);
    if (!a || !b) return false;
    const double first = *results.number(seed_key(c.before, 1), "top1");
    return std::fabs(first - *results.number(seed_key(c.after, 1), "top1")) < kClose ||
           !apart(a, b, results);
  };
  std::vector<std::string> keys;
  for (const RoadmapRow& row : networks()) {
    const bool asked = std::ranges::any_of(kComparisons, [&](const Comparison& c) {
      return (c.before == row.model || c.after == row.model) && undecided(c);
    });
    // Once begun, a network gets all its seeds.
    if (!asked && results.find(seed_key(row.model, 2)) == nullptr) continue;
    for (int seed = 2; seed <= kSeeds; ++seed) keys.push_back(seed_key(row.model, seed));
  }
  return keys;
}

std::vector<Column> columns() {
  std::vector<Column> all = bench_columns();
  for (const char* name : {"parameters", "miniature_parameters", "seed", "top1", "images"}) {
    all.push_back({name});
  }
  return all;
}

Row measure(const std::string& key, const StudyContext& context) {
  const size_t slash = key.find('/');
  const std::string model(paper_row(key.substr(0, slash)).model), what = key.substr(slash + 1);
  Row row;
  if (what == "cost") {
    const Graph graph = build_graph(find_model(model), kSize, kSize);
    row.set("parameters", fmt::format("{}", graph.param_count()));
    BenchRequest request;
    request.model = model;
    request.size = kSize;
    request.batch = kBatch;
    measure_bench(request, context, row);
    return row;
  }
  const int seed = std::stoi(what.substr(std::string_view("seed").size()));
  const std::filesystem::path weights = trained_miniature(model, seed, context);
  const Accuracy accuracy = measure_accuracy(weights, kMiniatureSize, context);
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
  return fmt::format("{:.1f} images/s, {}", row.number("images_per_second").value_or(0),
                     bytes_text(row.number("process_bytes")));
}

// Whether the change from one network to another has the paper's direction, where the seeds say so.
Claim accuracy_claim(const Comparison& comparison, const Results& results) {
  const double paper = paper_row(comparison.after).accuracy - paper_row(comparison.before).accuracy;
  Claim claim{comparison.sentence, fmt::format("{:+.1f}", paper), ""};
  const Accuracies a = accuracies(results, comparison.before);
  const Accuracies b = accuracies(results, comparison.after);
  if (!a || !b) return claim;
  const double change = b.mean() - a.mean();
  claim.here = fmt::format("{:+.1f}", 100 * change);
  if (!apart(a, b, results)) {
    claim.verdict = Verdict::kUndecided;
    claim.remark = "the ranges of the seeds overlap";
  } else {
    claim.verdict = verdict_of((change > 0) == (paper > 0));
  }
  return claim;
}

std::optional<double> speed(const Results& results, std::string_view model) {
  return results.number(cost_key(model), "images_per_second");
}

// `direction`: -1 where the second network is slower in the paper, 1 faster, 0 the same.
Claim speed_claim(const char* sentence, std::string_view before, std::string_view after,
                  int direction, const Results& results) {
  const auto text = [](double ratio) { return fmt::format("{:+.0f} %", 100 * (ratio - 1)); };
  const double paper = paper_row(after).throughput;
  Claim claim{sentence, text(paper / paper_row(before).throughput), ""};
  const auto change =
      ratio(speed(results, after == kSameNetwork ? kLast : after), speed(results, before));
  if (!change) return claim;
  claim.here = text(*change);
  const int here = *change > 1 + kSameSpeed ? 1 : *change < 1 - kSameSpeed ? -1 : 0;
  claim.verdict = verdict_of(here == direction);
  if (here == 0 && direction != 0) {
    claim.remark = fmt::format("the same within {:.0f} %", 100 * kSameSpeed);
  }
  return claim;
}

std::vector<Claim> claims(const Results& results) {
  std::vector<Claim> all;
  const std::vector<RoadmapRow> rows = networks();
  std::vector<std::string> wrong;
  bool measured = true;
  for (const RoadmapRow& row : rows) {
    const auto count = results.number(cost_key(row.model), "parameters");
    measured = measured && count;
    if (count && !rounds_to(*count, row.params) && !truncates_to(*count, row.params)) {
      wrong.push_back(
          fmt::format("{} has {:.2f}M, the paper prints {}", row.label, 1e-6 * *count, row.params));
    }
  }
  Claim parameters{
      "The rows' parameter counts (both tables)", "5.72M to 6.70M",
      measured ? fmt::format("{} of {} as printed", rows.size() - wrong.size(), rows.size()) : ""};
  if (measured) parameters.verdict = verdict_of(wrong.empty());
  parameters.remark = fmt::format("{}", fmt::join(wrong, "; "));
  all.push_back(parameters);
  for (const Comparison& comparison : kComparisons) {
    all.push_back(accuracy_claim(comparison, results));
  }
  all.push_back(speed_claim("The improved patch embedding has nearly no effect on throughput",
                            "gla_t", "gla_t_stem", 0, results));
  all.push_back(speed_claim("Both directions cost throughput (roadmap)", "gla_t_stem",
                            "gla_t_bidirectional", -1, results));
  all.push_back(speed_claim("The direction-wise gate does not compromise efficiency",
                            "gla_t_position", "gla_t_gated", 0, results));
  all.push_back(speed_claim("Locality injection costs throughput (roadmap)", "gla_t_gated",
                            kSameNetwork, -1, results));
  Claim merged{"The hardware-aware implementation is faster and takes less memory than two scans",
               "+22 %, -13 %", ""};
  merged.verdict = Verdict::kUndecided;
  merged.remark =
      "networks here have only the merged form; the scan and its mix alone are 1.29 times as fast "
      "as two scans at the size of ViG-T at 224 ([Measured](gla.md#measured))";
  all.push_back(merged);
  all.push_back(
      speed_claim("ViG is faster than GLA_Vim (bidirectional table)", kVim, kLast, 1, results));
  all.push_back(speed_claim("ViG-T is still slower than DeiT-T at 224 (limitations)", "deit_t",
                            kLast, -1, results));
  Claim memory{"ViG takes less memory than GLA_Vim (bidirectional table)", "730 MB to 812 MB", ""};
  const auto own = results.number(cost_key("vig_t"), "activation_bytes");
  const auto vim = results.number(cost_key("gla_t_vim"), "activation_bytes");
  if (own && vim) {
    memory.here = fmt::format("{} to {} of activations", bytes_text(own), bytes_text(vim));
    memory.verdict = verdict_of(*own < *vim);
  }
  all.push_back(memory);
  return all;
}

std::vector<std::string> table_row(const RoadmapRow& paper, const Results& results) {
  const std::string_view model = paper.model == kSameNetwork ? kLast : paper.model;
  const std::string key = cost_key(model);
  const auto images = results.number(key, "images_per_second");
  const auto count = results.number(key, "parameters");
  const auto small = results.number(seed_key(model, 1), "miniature_parameters");
  return {fmt::format("{} `{}`", paper.label, paper.model),
          std::string(paper.params),
          count ? fmt::format("{:.2f}M", 1e-6 * *count) : "",
          fmt::format("{}", paper.throughput),
          images ? fmt::format("{:.0f}", *images) : "",
          fmt::format("{} MB", paper.megabytes),
          bytes_text(results.number(key, "activation_bytes")),
          fmt::format("{:.1f}", paper.accuracy),
          accuracies(results, model).text(),
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
  for (const RoadmapRow& row : networks()) {
    if (row.model == kVim) continue;
    paper.points.emplace_back(position, row.accuracy);
    if (const Accuracies all = accuracies(results, row.model)) {
      here.points.emplace_back(position, 100 * all.mean());
      least.points.emplace_back(position, 100 * all.least());
      most.points.emplace_back(position, 100 * all.most());
    }
    ++position;
  }
  Presentation shown;
  shown.markdown =
      conditions_sentence(results) + "\n" + training_sentence(results.conditions.settings) + "\n" +
      fmt::format(
          "Throughput and memory (activations) here: {0} x {0}, batch {1}. The paper's: one "
          "RTX 4090, batch 256; its accuracy is ImageNet's. Locality and hardware-aware "
          "implementation are one network.\n\n",
          kSize, kBatch) +
      markdown_table(
          {"row", "parameters, paper:", "here:", "images/s, paper:", "here:", "memory, paper:",
           "here:", "top-1, paper:", "miniature here:", "its parameters:"},
          rows) +
      "\n" + claims_markdown(claims(results));
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
  study.duration = "an hour";
  study.columns = columns();
  study.keys = keys;
  study.further_keys = further_keys;
  study.measure = measure;
  study.summary = summary;
  study.present = present;
  study.settings = training_settings;
  return study;
}

}  // namespace vig::study
