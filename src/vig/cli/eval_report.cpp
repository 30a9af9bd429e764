#include "vig/cli/eval_report.h"

#include <fmt/format.h>

#include <cmath>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/cli/output.h"
#include "vig/cli/report_text.h"
#include "vig/image/encode.h"
#include "vig/pipeline/results_json.h"
#include "vig/tasks/confusion_svg.h"
#include "vig/tasks/csv.h"

namespace vig::cli {
namespace {

using Align = Table::Align;

constexpr int kThumbnailSide = 240;

std::string calibration_text(const Calibration& calibration, double temperature) {
  const double best = calibration.best_temperature();
  Table table({{"threshold"}, {"kept", Align::kRight}, {"precision", Align::kRight}});
  for (const double threshold : kListedThresholds) {
    const Calibration::Kept kept = calibration.kept(threshold, temperature);
    table.add({fmt::format("{:.1f}", threshold), percent(kept.share),
               kept.share > 0 ? percent(kept.precision) : ""});
  }
  return fmt::format(
      "expected calibration error\n  {} at the model's temperature {:.3g}\n  {} at the best "
      "temperature for these images, {:.3g}\n\n{}\n",
      percent(calibration.error(temperature)), temperature, percent(calibration.error(best)), best,
      table.text());
}

}  // namespace

std::vector<std::string> EvalReport::class_names() const {
  return source.classes.empty() ? data.classes() : source.classes;
}

std::string EvalReport::data_name() const {
  return split.empty() ? data_path : fmt::format("{}, split {}", data_path, split);
}

std::string EvalReport::title() const {
  return fmt::format("{} on {}{}", file_name(source.name), file_name(data_path),
                     split.empty() ? "" : ", split " + split);
}

std::string EvalReport::text() const {
  Table table({{"class"},
               {"images", Align::kRight},
               {"predicted", Align::kRight},
               {"correct", Align::kRight},
               {"recall", Align::kRight},
               {"precision", Align::kRight}});
  const std::vector<ClassMetrics> classes = metrics().per_class();
  const std::vector<std::string> names = class_names();
  for (size_t i = 0; i < classes.size(); ++i) {
    table.add({printable(names[i], 40), grouped(classes[i].count), grouped(classes[i].predicted),
               grouped(classes[i].correct), percent(classes[i].recall()),
               percent(classes[i].precision())});
  }
  const std::string top5 =
      metrics().has_top5() ? fmt::format("top-5     {}\n", percent(metrics().top5())) : "";
  const std::string calibrated =
      calibration == nullptr ? "" : calibration_text(*calibration, source.confidence.temperature);
  return fmt::format(
      "model     {}{}, {}\ndata      {}\nimages  {}\nskipped   {}\ntop-1     {}\n{}"
      "balanced  {} (mean recall of the classes)\nmacro F1  {:.4f}\nloss      {:.4f}\n"
      "speed     {:.1f} images/s\n\n{}{}",
      default_model ? "default, " : "", printable(source.name, 4096), source.spec.name,
      printable(data_name(), 4096), grouped(metrics().count), grouped(result.skipped),
      percent(metrics().top1()), top5, percent(metrics().balanced_accuracy()), metrics().macro_f1(),
      metrics().loss(), result.images_per_second(), calibrated, table.text());
}

std::string EvalReport::json() const {
  return evaluation_json({source.name, source.spec.name, data_path, split, class_names()}, result,
                         calibration, source.confidence.temperature);
}

std::string EvalReport::classes_csv() const {
  const auto cell = [](double share) {
    return std::isnan(share) ? std::string() : fmt::format("{}", share);
  };
  std::string text = "index,class,images,predicted,correct,recall,precision\n";
  const std::vector<ClassMetrics> classes = metrics().per_class();
  const std::vector<std::string> names = class_names();
  for (size_t i = 0; i < classes.size(); ++i) {
    text += fmt::format("{},{},{},{},{},{},{}\n", i, csv_quoted(names[i]), classes[i].count,
                        classes[i].predicted, classes[i].correct, cell(classes[i].recall()),
                        cell(classes[i].precision()));
  }
  return text;
}

std::string EvalReport::confusion() const {
  return confusion_svg(metrics(), class_names(),
                       fmt::format("{}: top-1 {} of {} images", title(), percent(metrics().top1()),
                                   grouped(metrics().count)));
}

std::string EvalReport::mistakes_page(std::span<const Prediction> predictions, size_t most) const {
  const std::vector<size_t> surest = surest_mistakes(predictions, most);
  std::vector<ShownMistake> shown;
  for (const size_t i : surest) {
    shown.push_back({predictions[i], {}});
    try {
      shown.back().jpeg = encode_jpeg(thumbnail(*data.decode(i), kThumbnailSide));
    } catch (const Error&) {
      // It was there a moment ago; the page says that it is not any more.
    }
  }
  return mistakes_html(
      "Mistakes of " + title(),
      fmt::format(
          "The {} most confident of {} mistakes among {} images: label, prediction, and the best "
          "classes with their probabilities.",
          shown.size(), metrics().count - metrics().top1_hits, grouped(metrics().count)),
      shown, class_names());
}

}  // namespace vig::cli
