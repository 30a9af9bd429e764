// Accuracy epoch by epoch of GLA, DeiT and ViG: which is ahead after a short training need not be
// after a long one.
//
// Rows: MODEL/seedN holds `seed`, `curve` (top-1 of the validation images after each epoch, as
// shares between spaces), `top1` (share of the test images at the end) and `images` (tested).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "vig/base/error.h"
#include "vig/study/claims.h"
#include "vig/study/list.h"
#include "vig/study/miniature.h"
#include "vig/study/seeds.h"
#include "vig/study/trained_metrics.h"
#include "vig/tasks/chart.h"

namespace vig::study {
namespace {

constexpr int kSeeds = 2;
const MiniatureTraining kTraining{.epochs = 15, .eval_every = 1};

struct Contender {
  const char* model;
  const char* name;
};
constexpr std::array<Contender, 3> kContenders = {
    {{"vig_t", "ViG"}, {"deit_t", "DeiT"}, {"gla_t", "GLA"}}};

std::vector<std::string> keys(const StudyOptions& options) {
  std::vector<std::string> keys;
  for (int seed = 1; seed <= seed_count(options, kSeeds); ++seed) {
    for (const Contender& contender : kContenders) {
      keys.push_back(seed_key(contender.model)(seed));
    }
  }
  return keys;
}

Row measure(const std::string& key, const StudyContext& context) {
  const std::string model = key.substr(0, key.find('/'));
  const int seed = std::stoi(key.substr(key.find("/seed") + 5));
  const std::filesystem::path run = trained_miniature(model, seed, kTraining, context);
  const Accuracy accuracy =
      measure_accuracy(run / "last.safetensors", kTraining.size, kTraining.test, context);
  Row row;
  row.set("seed", fmt::format("{}", seed));
  row.set("curve", fmt::format("{}", fmt::join(metrics_of(run, "val_top1"), " ")));
  row.set("top1", accuracy.top1);
  row.set("images", accuracy.images);
  return row;
}

std::vector<double> curve_of(const Row& row) {
  const std::string text = row.text("curve");
  std::vector<double> curve;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    double value = 0;
    const auto [rest, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    if (error != std::errc() || rest != text.data() + end) {
      fail("[curve] {}: '{}' is no curve", row.key, text);
    }
    curve.push_back(value);
    begin = end + 1;
  }
  return curve;
}

// Over the seeds, epoch by epoch, as far as all have them.
std::vector<double> mean_curve(const Results& results, const char* model) {
  std::vector<double> mean;
  double seeds = 0;
  for (int seed = 1; seed <= 99; ++seed) {
    const Row* row = results.find(seed_key(model)(seed));
    if (row == nullptr) continue;
    const std::vector<double> curve = curve_of(*row);
    if (seeds == 0) mean.assign(curve.size(), 0);
    mean.resize(std::min(mean.size(), curve.size()));
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += curve[i];
    ++seeds;
  }
  for (double& value : mean) value /= seeds;
  return mean;
}

// "ViG is ahead of DeiT from epoch 3 on", of the mean curves.
std::string crossing(const Results& results, const Contender& other) {
  const std::vector<double> own = mean_curve(results, "vig_t"),
                            theirs = mean_curve(results, other.model);
  const size_t epochs = std::min(own.size(), theirs.size());
  if (epochs == 0) return "";
  size_t ahead = epochs;
  while (ahead > 0 && own[ahead - 1] > theirs[ahead - 1]) --ahead;
  if (ahead == epochs) return fmt::format("ViG is behind {} at the end", other.name);
  return ahead == 0 ? fmt::format("ViG is ahead of {} at every epoch", other.name)
                    : fmt::format("ViG is ahead of {} from epoch {} of {} on", other.name,
                                  ahead + 1, epochs);
}

Claim claim_of(const Contender& other, const char* text, const char* paper,
               const Results& results) {
  Claim claim =
      seed_claim(text, paper, results, seed_key(other.model), seed_key("vig_t"), "top1", true);
  const std::string words = crossing(results, other);
  if (!words.empty()) claim.remark += (claim.remark.empty() ? "" : "; ") + words;
  return claim;
}

Presentation present(const Results& results) {
  Presentation shown;
  shown.claims = {
      claim_of(kContenders[1], "ViG-T outperforms DeiT by 5.0 % top 1 (section 4.5)", "+5.0",
               results),
      claim_of(kContenders[2], "ViG-T outperforms vanilla GLA by 11.1 % top 1 (section 4.5)",
               "+11.1", results)};
  ChartPanel panel;
  panel.title = results.conditions.settings;
  panel.x = {.label = "epochs"};
  panel.y = {.label = "top-1 of the validation images, %"};
  std::vector<std::vector<std::string>> rows;
  for (const Contender& contender : kContenders) {
    ChartSeries series{.name = contender.name, .points = {}};
    series.strong = contender.model == std::string_view("vig_t");
    const std::vector<double> curve = mean_curve(results, contender.model);
    std::vector<std::string> text;
    for (size_t i = 0; i < curve.size(); ++i) {
      series.points.emplace_back(static_cast<double>(i + 1), 100 * curve[i]);
      text.push_back(fmt::format("{:.1f}", 100 * curve[i]));
    }
    panel.series.push_back(std::move(series));
    rows.push_back({fmt::format("{} `{}`", contender.name, contender.model),
                    fmt::format("{}", fmt::join(text, ", ")),
                    seeds_text(seed_values(results, seed_key(contender.model), "top1"))});
  }
  Chart chart;
  chart.title = "Accuracy over epochs";
  chart.subtitle = "miniatures of about 0.3 M parameters, means over the seeds";
  chart.panels = {panel};
  chart.panel_width = 460;
  shown.svg = chart_svg(chart);
  shown.markdown =
      conditions_sentence(results) + "\n" +
      training_sentence(results.conditions.settings, kTraining) +
      "\nThe paper trains for 300 epochs of ImageNet. The direction is judged, at the last epoch; "
      "the figures are those of other networks and images.\n\n" +
      markdown_table({"network", "validation after each epoch", "test at the end:"}, rows) + "\n" +
      claims_markdown(shown.claims);
  return shown;
}

}  // namespace

Study curve_study() {
  Study study;
  study.name = "curve";
  study.sentence = "Accuracy epoch by epoch of miniatures of ViG, DeiT and GLA.";
  study.arguments = " --data cifar10.tar.gz";
  study.duration = "3 hours";
  study.columns = {{"seed"}, {"curve", Column::Kind::kText}, {"top1"}, {"images"}};
  study.keys = keys;
  study.measure = measure;
  study.summary = [](const Row& row) {
    return fmt::format("{:.2f} % of {:.0f} test images", 100 * row.number("top1").value_or(0),
                       row.number("images").value_or(0));
  };
  study.present = present;
  study.portable = [](const std::string&) { return true; };
  study.settings = [](const StudyOptions& options) {
    return training_settings(options, kTraining);
  };
  return study;
}

}  // namespace vig::study
