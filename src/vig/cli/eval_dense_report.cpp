#include "vig/cli/eval_dense_report.h"

#include <fmt/format.h>

#include <cmath>

#include "vig/base/printable.h"
#include "vig/cli/output.h"
#include "vig/cli/report_text.h"
#include "vig/tasks/chart.h"
#include "vig/tasks/confusion_svg.h"

namespace vig::cli {
namespace {

using Align = Table::Align;

constexpr const char* kFigureKeys[] = {"ap",        "ap50",     "ap75",      "ap_small",
                                       "ap_medium", "ap_large", "ar_1",      "ar_10",
                                       "ar_100",    "ar_small", "ar_medium", "ar_large"};
constexpr const char* kFigureNames[] = {"AP, IoU 0.50 to 0.95",
                                        "AP50",
                                        "AP75",
                                        "AP of small objects",
                                        "AP of medium ones",
                                        "AP of large ones",
                                        "AR of the best 1",
                                        "AR of the best 10",
                                        "AR of the best 100",
                                        "AR of small objects",
                                        "AR of medium ones",
                                        "AR of large ones"};

std::string cell(double share) {
  return std::isnan(share) ? std::string() : fmt::format("{}", share);
}

// File names without folders, since reports are passed on.
std::string heading(const DenseTitle& title) {
  return fmt::format("{} on {}{}", file_name(title.model), file_name(title.data),
                     title.split.empty() ? "" : ", split " + title.split);
}

std::string head_text(const DenseTitle& title, const DenseRun& run) {
  const std::string data =
      title.split.empty() ? title.data : fmt::format("{}, split {}", title.data, title.split);
  return fmt::format(
      "model     {}{}, {}\ndata      {}\nimages  {}\nskipped   {}\nspeed     {:.1f} "
      "images/s\n",
      title.default_model ? "default, " : "", printable(title.model, 4096), title.arch,
      printable(data, 4096), grouped(run.images), grouped(run.skipped), run.images_per_second());
}

Json head_json(const DenseTitle& title, const DenseRun& run) {
  return {{"model", title.model},
          {"arch", title.arch},
          {"data", title.data},
          {"split", title.split},
          {"images", run.images},
          {"skipped", run.skipped},
          {"complete", run.complete},
          {"seconds", run.seconds},
          {"images_per_second", run.images_per_second()}};
}

// NaN becomes null.
Json figures_json(const CocoMetrics& metrics) {
  Json json;
  const auto figures = metrics.figures().all();
  for (size_t i = 0; i < figures.size(); ++i) json[kFigureKeys[i]] = figures[i];
  return json;
}

// Means over the classes that have something to find.
ChartSeries curve(const CocoMetrics& metrics, const std::string& name, int first, int last) {
  ChartSeries series{name, {}};
  std::vector<double> sums(kCocoRecalls, 0.0);
  int64_t count = 0;
  for (int label = 0; label < metrics.classes(); ++label) {
    for (int threshold = first; threshold < last; ++threshold) {
      const auto precision = metrics.precision(threshold, label);
      if (std::isnan(precision[0])) continue;
      ++count;
      for (size_t i = 0; i < precision.size(); ++i) sums[i] += precision[i];
    }
  }
  for (int i = 0; i < kCocoRecalls && count > 0; ++i) {
    series.points.emplace_back(coco_recall(i),
                               sums[static_cast<size_t>(i)] / static_cast<double>(count));
  }
  return series;
}

ChartPanel curve_panel(const CocoMetrics& metrics, const std::string& what) {
  return {.title = "precision, " + what,
          .x = {.label = "recall"},
          .y = {},
          .series = {curve(metrics, "IoU 0.50", 0, 1), curve(metrics, "IoU 0.75", 5, 6),
                     curve(metrics, "IoU 0.50 to 0.95", 0, kCocoThresholds)}};
}

}  // namespace

std::string SegmentationReport::text() const {
  const SegmentationMetrics& metrics = result.metrics;
  Table table(
      {{"class"}, {"pixels", Align::kRight}, {"IoU", Align::kRight}, {"accuracy", Align::kRight}});
  const std::vector<ClassOverlap> classes = metrics.per_class();
  for (size_t i = 0; i < classes.size(); ++i) {
    table.add({printable(title.class_names[i], 40), grouped(classes[i].labelled),
               percent(classes[i].iou()), percent(classes[i].accuracy())});
  }
  return head_text(title, result) +
         fmt::format(
             "mIoU      {}\nmAcc      {} (mean accuracy of the classes)\naAcc      {} (of "
             "all pixels)\n\n{}",
             percent(metrics.mean_iou()), percent(metrics.mean_accuracy()),
             percent(metrics.pixel_accuracy()), table.text());
}

std::string SegmentationReport::json() const {
  const SegmentationMetrics& metrics = result.metrics;
  Json json = head_json(title, result);
  json["mean_iou"] = metrics.mean_iou();
  json["mean_accuracy"] = metrics.mean_accuracy();
  json["pixel_accuracy"] = metrics.pixel_accuracy();
  json["pixels"] = metrics.pixels();
  json["classes"] = Json::array();
  const std::vector<ClassOverlap> classes = metrics.per_class();
  for (size_t i = 0; i < classes.size(); ++i) {
    json["classes"].push_back({{"index", i},
                               {"name", title.class_names[i]},
                               {"labelled", classes[i].labelled},
                               {"predicted", classes[i].predicted},
                               {"both", classes[i].both},
                               {"iou", classes[i].iou()},
                               {"accuracy", classes[i].accuracy()}});
  }
  return json_text(json, 2);
}

std::string SegmentationReport::classes_csv() const {
  std::string text = "index,class,labelled,predicted,both,iou,accuracy\n";
  const std::vector<ClassOverlap> classes = result.metrics.per_class();
  for (size_t i = 0; i < classes.size(); ++i) {
    text += fmt::format("{},{},{},{},{},{},{}\n", i, csv_quoted(title.class_names[i]),
                        classes[i].labelled, classes[i].predicted, classes[i].both,
                        cell(classes[i].iou()), cell(classes[i].accuracy()));
  }
  return text;
}

std::string SegmentationReport::confusion() const {
  const SegmentationMetrics& metrics = result.metrics;
  ClassificationMetrics pixels(metrics.classes());
  for (int label = 0; label < metrics.classes(); ++label) {
    for (int predicted = 0; predicted < metrics.classes(); ++predicted) {
      const int64_t count = metrics.confused(label, predicted);
      if (count == 0) continue;
      pixels.confusion[{label, predicted}] = count;
      pixels.count += count;
      if (label == predicted) pixels.top1_hits += count;
    }
  }
  return confusion_svg(pixels, title.class_names,
                       fmt::format("{}: mIoU {}", heading(title), percent(metrics.mean_iou())),
                       "pixels");
}

std::string DetectionReport::text() const {
  Table figures({{""}, {"boxes", Align::kRight}, {"masks", Align::kRight}});
  const auto boxes = result.boxes.figures().all(), masks = result.masks.figures().all();
  for (size_t i = 0; i < boxes.size(); ++i) {
    figures.add({kFigureNames[i], percent(boxes[i]), result.has_masks ? percent(masks[i]) : ""});
  }
  Table table({{"class"},
               {"objects", Align::kRight},
               {"AP of boxes", Align::kRight},
               {"AP of masks", Align::kRight}});
  const std::vector<double> box_ap = result.boxes.class_ap(), mask_ap = result.masks.class_ap();
  for (size_t i = 0; i < box_ap.size(); ++i) {
    table.add({printable(title.class_names[i], 40),
               grouped(result.boxes.positives(static_cast<int>(i))), percent(box_ap[i]),
               result.has_masks ? percent(mask_ap[i]) : ""});
  }
  return head_text(title, result) + "\n" + figures.text() + "\n" + table.text();
}

std::string DetectionReport::json() const {
  Json json = head_json(title, result);
  json["boxes"] = figures_json(result.boxes);
  json["masks"] = result.has_masks ? figures_json(result.masks) : Json(nullptr);
  json["classes"] = Json::array();
  const std::vector<double> box_ap = result.boxes.class_ap(), mask_ap = result.masks.class_ap();
  for (size_t i = 0; i < box_ap.size(); ++i) {
    json["classes"].push_back({{"index", i},
                               {"name", title.class_names[i]},
                               {"objects", result.boxes.positives(static_cast<int>(i))},
                               {"box_ap", box_ap[i]},
                               {"mask_ap", result.has_masks ? mask_ap[i] : NAN}});
  }
  return json_text(json, 2);
}

std::string DetectionReport::classes_csv() const {
  std::string text = "index,class,objects,box_ap,mask_ap\n";
  const std::vector<double> box_ap = result.boxes.class_ap(), mask_ap = result.masks.class_ap();
  for (size_t i = 0; i < box_ap.size(); ++i) {
    text += fmt::format("{},{},{},{},{}\n", i, csv_quoted(title.class_names[i]),
                        result.boxes.positives(static_cast<int>(i)), cell(box_ap[i]),
                        result.has_masks ? cell(mask_ap[i]) : "");
  }
  return text;
}

std::string DetectionReport::curves() const {
  Chart chart{.title = heading(title),
              .panels = {curve_panel(result.boxes, "boxes")},
              .note = "Means over the classes that have something to find."};
  if (result.has_masks) chart.panels.push_back(curve_panel(result.masks, "masks"));
  chart.layout = ChartLayout::kStack;
  chart.panel_width = 560;
  chart.panel_height = 220;
  return chart_svg(chart);
}

}  // namespace vig::cli
