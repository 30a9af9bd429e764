// The paper's efficiency figure, (d): accuracy of networks that are trained at one size and tested
// at larger ones.
//
// Rows: MODEL/SIZE holds `size` (of the tested input), `parameters` (of the miniature), `top1`
// (share of the test images) and `images` (tested). All rows of a model test the same weights.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "vig/base/error.h"
#include "vig/study/claims.h"
#include "vig/study/list.h"
#include "vig/study/miniature.h"
#include "vig/tasks/chart.h"

namespace vig::study {
namespace {

constexpr int kSeed = 1;
// 4.6 times the size of training is to 32 what 1024, the size of the paper's sentence, is to 224.
constexpr std::array kSizes = {32, 48, 64, 96, 148};

struct Contender {
  const char* model;
  const char* name;
};
constexpr std::array<Contender, 4> kContenders = {{
    {"vig_t", "ViG"},
    {"deit_t", "DeiT"},
    {"vrwkv_t", "VRWKV"},
    {"resnet50", "ResNet"},
}};

std::string key_of(const char* model, int size) { return fmt::format("{}/{}", model, size); }

std::vector<std::string> keys(const StudyOptions&) {
  std::vector<std::string> keys;
  for (const Contender& contender : kContenders) {
    for (const int size : kSizes) keys.push_back(key_of(contender.model, size));
  }
  return keys;
}

Row measure(const std::string& key, const StudyContext& context) {
  const size_t slash = key.find('/');
  const int size = std::stoi(key.substr(slash + 1));
  const auto weights = trained_miniature(key.substr(0, slash), kSeed, context);
  const Accuracy accuracy = measure_accuracy(weights, size, context);
  Row row;
  row.set("size", fmt::format("{}", size));
  row.set("parameters", fmt::format("{}", file_parameters(weights)));
  row.set("top1", accuracy.top1);
  row.set("images", accuracy.images);
  return row;
}

std::string summary(const Row& row) {
  return fmt::format("{:.2f} % of {:.0f} test images", 100 * row.number("top1").value_or(0),
                     row.number("images").value_or(0));
}

// ViG's lead over another network at one size, and twice its standard error: images are drawn
// at random, and each is right or wrong.
struct Lead {
  double points = 0;
  double error = 0;
};
std::optional<Lead> lead(const Results& results, const char* other, int size) {
  const Row* a = results.find(key_of("vig_t", size));
  const Row* b = results.find(key_of(other, size));
  if (a == nullptr || b == nullptr) return std::nullopt;
  const auto variance = [](const Row& row) {
    const double p = row.number("top1").value_or(0);
    return p * (1 - p) / std::max(1.0, row.number("images").value_or(1));
  };
  return Lead{a->number("top1").value_or(0) - b->number("top1").value_or(0),
              2 * std::sqrt(variance(*a) + variance(*b))};
}

// "outperforms X as the resolution increases": ahead at every size above the trained one.
Claim growth_claim(const Contender& other, const Results& results) {
  Claim claim{fmt::format("ViG is more accurate than {} as the resolution increases (figure (d))",
                          other.name),
              "a curve", ""};
  bool ahead = true, behind = false, known = true;
  std::string leads;
  for (const int size : kSizes) {
    const auto found = lead(results, other.model, size);
    known = known && found;
    if (!found) continue;
    leads += fmt::format("{}{:+.1f} at {}", leads.empty() ? "" : ", ", 100 * found->points, size);
    if (size == kMiniatureSize) continue;
    ahead = ahead && found->points > found->error;
    behind = behind || found->points < -found->error;
  }
  claim.here = leads;
  if (!known) return claim;
  claim.verdict = ahead ? Verdict::kHolds : behind ? Verdict::kFails : Verdict::kUndecided;
  if (!ahead && !behind) claim.remark = "leads within the error of the test images";
  return claim;
}

std::vector<Claim> claims(const Results& results) {
  std::vector<Claim> all;
  const int largest = kSizes.back();
  Claim sentence{
      "At 1024, 4.6 times the size of training, ViG-T has 20.7 % higher top-1 accuracy "
      "than DeiT-T (abstract)",
      "+20.7", ""};
  if (const auto found = lead(results, "deit_t", largest)) {
    sentence.here = fmt::format("{:+.1f} at {}", 100 * found->points, largest);
    sentence.verdict = found->points > found->error    ? Verdict::kHolds
                       : found->points < -found->error ? Verdict::kFails
                                                       : Verdict::kUndecided;
    sentence.remark = "the direction; the number is that of other networks and images";
  }
  all.push_back(sentence);
  for (const Contender& other : kContenders) {
    if (other.model != std::string_view("vig_t")) all.push_back(growth_claim(other, results));
  }
  return all;
}

Presentation present(const Results& results) {
  std::vector<std::string> titles = {"network", "parameters:"};
  for (const int size : kSizes) titles.push_back(fmt::format("{}:", size));
  std::vector<std::vector<std::string>> rows;
  ChartPanel panel;
  panel.title = results.conditions.settings;
  panel.x = {.label = "side of the test images", .scale = AxisScale::kLog, .ticks = {}};
  for (const int size : kSizes) panel.x.ticks.push_back(size);
  panel.y = {.label = "top-1, %"};
  for (const Contender& contender : kContenders) {
    ChartSeries series{.name = contender.name, .points = {}};
    series.strong = contender.model == std::string_view("vig_t");
    const auto count = results.number(key_of(contender.model, kSizes.front()), "parameters");
    std::vector<std::string> cells = {fmt::format("{} `{}`", contender.name, contender.model),
                                      count ? fmt::format("{:.3f}M", 1e-6 * *count) : ""};
    for (const int size : kSizes) {
      const auto top1 = results.number(key_of(contender.model, size), "top1");
      cells.push_back(top1 ? fmt::format("{:.1f}", 100 * *top1) : "");
      if (top1) series.points.emplace_back(size, 100 * *top1);
    }
    rows.push_back(cells);
    panel.series.push_back(series);
  }
  Presentation shown;
  shown.markdown =
      conditions_sentence(results) + "\n" + training_sentence(results.conditions.settings) +
      fmt::format(
          "\nTop-1 in percent by the side of the tested input, all trained at {} with seed "
          "{}. Small images are enlarged, so larger inputs show larger objects and no more "
          "detail; position embeddings are resized. The paper's figure has ViG-T, DeiT-T, "
          "Vim-T, VRWKV-T and ResNet50, trained at 224 and tested from 224 to 2048, and "
          "prints no figures. A verdict allows for the error of the test images, not for that "
          "of the seed: the roadmap's seeds differ by up to a percent and a half. It is one on "
          "networks that saw each image a few times, not on ones trained to the end.\n\n",
          kMiniatureSize, kSeed) +
      markdown_table(titles, rows) + "\n" + claims_markdown(claims(results));
  Chart chart;
  chart.title = "Accuracy at larger sizes than the one of training";
  chart.subtitle =
      fmt::format("miniatures of about 0.3 M parameters, trained at {}", kMiniatureSize);
  chart.panels = {panel};
  chart.panel_width = 460;
  shown.svg = chart_svg(chart);
  return shown;
}

}  // namespace

Study resolution_study() {
  Study study;
  study.name = "resolution";
  study.sentence =
      "Accuracy of trained miniatures of ViG, DeiT, VRWKV and ResNet at larger test sizes.";
  study.arguments = " --data cifar10.tar.gz";
  study.duration = "20 minutes";
  study.columns = {{"size"}, {"parameters"}, {"top1"}, {"images"}};
  study.keys = keys;
  study.measure = measure;
  study.summary = summary;
  study.present = present;
  study.settings = training_settings;
  return study;
}

}  // namespace vig::study
