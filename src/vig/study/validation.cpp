// Top-1 accuracy of published weights on ImageNet's validation images, row by row beside the paper.
//
// Rows are labels of the paper's tables, of the models that weights are given of: `size` (of the
// input), `parameters`, `top1` (share of the images) and `images` (tested).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/pipeline/model_source.h"
#include "vig/study/claims.h"
#include "vig/study/list.h"
#include "vig/study/miniature.h"
#include "vig/study/paper_tables.h"
#include "vig/tasks/chart.h"

namespace vig::study {
namespace {

constexpr double kWhole = 50000;  // images of the whole validation split
constexpr const char* kSplit = "val";

const PaperRow* row_of_model(std::string_view model) {
  const auto found = std::ranges::find_if(
      paper_rows(), [&](const PaperRow& row) { return row.model == model && row.fields.empty(); });
  return found == paper_rows().end() ? nullptr : &*found;
}

// The row and the file of "MODEL=FILE".
std::pair<const PaperRow*, std::string> parse_published(const std::string& setting) {
  const size_t equals = setting.find('=');
  const PaperRow* row = row_of_model(setting.substr(0, equals));
  if (equals == std::string::npos || row == nullptr) {
    fail_usage(
        "--weights: expected MODEL=FILE with a model of the paper's tables, such as vig_t=FILE, "
        "found '{}'",
        setting);
  }
  return {row, setting.substr(equals + 1)};
}

std::vector<std::string> keys_of_published(const StudyOptions& options) {
  std::vector<std::string> keys;
  if (options.weights.empty()) {
    for (const PaperRow& row : paper_rows()) {
      if (row.fields.empty()) keys.emplace_back(row.label);
    }
  }
  for (const std::string& setting : options.weights) {
    keys.emplace_back(parse_published(setting).first->label);
  }
  return keys;
}

Row measure_published(const std::string& key, const StudyContext& context) {
  for (const std::string& setting : context.options.weights) {
    const auto [paper, file] = parse_published(setting);
    if (paper->label != key) continue;
    const Accuracy accuracy = measure_accuracy(file, paper->size, kSplit, context);
    Row row;
    row.set("size", fmt::format("{}", paper->size));
    row.set("parameters", fmt::format("{}", file_parameters(file)));
    row.set("top1", accuracy.top1);
    row.set("images", accuracy.images);
    return row;
  }
  fail_usage("--weights: expected MODEL=FILE of {}, found nothing", key);
}

// Of all images a figure agrees or not; a part of them has an error.
Claim published_claim(const PaperRow& paper, const Row* row) {
  Claim claim{fmt::format("top-1 accuracy of {}", paper.label), std::string(paper.accuracy), ""};
  if (row == nullptr) {
    claim.verdict = Verdict::kUnchecked;
    claim.remark = "needs ImageNet and published weights";
    return claim;
  }
  const double top1 = row->number("top1").value_or(0),
               images = std::max(1.0, row->number("images").value_or(1));
  const double error = 2 * std::sqrt(top1 * (1 - top1) / images);
  const Printed printed = parse_printed(paper.accuracy);
  claim.here = fmt::format("{:.2f}", 100 * top1);
  claim.verdict = verdict_of(agrees(100 * top1, printed));
  if (images >= kWhole) return claim;
  claim.here += fmt::format(" of {:.0f} images", images);
  if (std::abs(100 * top1 - printed.value) <= 100 * error) {
    claim.verdict = Verdict::kUndecided;
    claim.remark =
        fmt::format("a part of the {:.0f} images, within its error of {:.1f}", kWhole, 100 * error);
  }
  return claim;
}

Presentation present_published(const Results& results) {
  Presentation shown;
  ChartPanel panel;
  panel.title = "top 1, %";
  panel.x = {.label = "parameters", .scale = AxisScale::kLog, .ticks = {}, .prefixes = true};
  ChartSeries paper{.name = "the paper", .points = {}}, here{.name = "here", .points = {}};
  here.strong = true;
  for (const PaperRow& row : paper_rows()) {
    const Row* found = results.find(row.label);
    shown.claims.push_back(published_claim(row, found));
    if (found == nullptr) continue;
    const double parameters = found->number("parameters").value_or(0);
    here.points.emplace_back(parameters, 100 * found->number("top1").value_or(0));
    paper.points.emplace_back(parameters, parse_printed(row.accuracy).value);
  }
  std::ranges::sort(paper.points);
  std::ranges::sort(here.points);
  if (!here.points.empty()) panel.series = {paper, here};
  Chart chart;
  chart.title = "Top-1 accuracy of published weights";
  chart.subtitle = conditions_sentence(results);
  chart.panels = {panel};
  chart.panel_width = 460;
  shown.svg = chart_svg(chart);
  shown.markdown = conditions_sentence(results) +
                   "\n\nEach model at its own size, with the preprocessing that belongs to its "
                   "weights, in float32.\n\n" +
                   claims_markdown(shown.claims);
  return shown;
}

}  // namespace

Study validation_study() {
  Study study;
  study.name = "validation";
  study.sentence = "Top-1 accuracy of published weights on ImageNet's validation images.";
  study.arguments = " --data imagenet --weights vig_t=vig_t.pth";
  study.duration = "10 minutes for vig_t";
  study.columns = {{"size"}, {"parameters"}, {"top1"}, {"images"}};
  study.keys = keys_of_published;
  study.measure = measure_published;
  study.summary = [](const Row& row) {
    return fmt::format("{:.2f} % of {:.0f} images", 100 * row.number("top1").value_or(0),
                       row.number("images").value_or(0));
  };
  study.present = present_published;
  study.portable = [](const std::string&) { return true; };
  study.settings = [](const StudyOptions& options) { return data_name(options); };
  return study;
}

}  // namespace vig::study
