#include "vig/pipeline/results_json.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "vig/image/mask.h"
#include "vig/pipeline/json_text.h"
#include "vig/tasks/classification.h"

namespace vig {

namespace {

Json score_json(const ClassScore& score) {
  Json row = {{"index", score.index}};
  if (!score.name.empty()) row["name"] = score.name;
  row["probability"] = short_number(score.probability);
  row["logit"] = short_number(score.logit);
  return row;
}

Json as_list(const std::vector<ImageWarning>& warnings) {
  Json list = Json::array();
  for (const ImageWarning& one : warnings) {
    list.push_back({{"kind", one.kind}, {"message", one.message}});
  }
  return list;
}

// The map by hand, because it is long.
std::string with_map(const Json& entry, const TokenMap& map) {
  std::string text = json_text(entry);
  text.pop_back();  // the brace
  return fmt::format("{},\"shape\":[{},{}],\"values\":[{}]}}", text, map.height, map.width,
                     fmt::join(map.values, ","));
}

}  // namespace

std::string warnings_json(const std::vector<ImageWarning>& warnings) {
  return json_text(as_list(warnings));
}

std::string explanation_json(const ImageEvidence& image, const std::string& drawn) {
  Json entry = {{"file", image.name}};
  if (!image.error.empty()) {
    entry["error"] = image.error;
    return json_text(entry);
  }
  if (!drawn.empty()) entry["image"] = drawn;
  entry["class"] = score_json(image.prediction.about);
  if (image.prediction.against) entry["against"] = score_json(*image.prediction.against);
  return with_map(entry, image.prediction.map);
}

std::string explanation_json(const ImageAttention& image, const std::string& drawn) {
  Json entry = {{"file", image.name}};
  if (!image.error.empty()) {
    entry["error"] = image.error;
    return json_text(entry);
  }
  const LayerAttention& attention = image.prediction;
  if (!drawn.empty()) entry["image"] = drawn;
  entry["layer"] = attention.layer;
  if (attention.head >= 0) entry["head"] = attention.head;
  entry["row"] = attention.row;
  entry["column"] = attention.column;
  const char* const names[] = {"forward", "backward"};
  for (size_t i = 0; i < attention.directions.size(); ++i) {
    Json values = Json::array();
    for (const float value : attention.directions[i].values) {
      values.push_back(static_cast<double>(value));
    }
    entry[names[i]] = values;
  }
  return with_map(entry, attention.map);
}

std::string classification_json(const ClassifiedImage& image, const ClassificationText& options) {
  Json entry = {{"file", image.name}};
  if (!image.error.empty()) {
    entry["error"] = image.error;
    return json_text(entry);
  }
  if (!options.model.empty()) entry["model"] = options.model;
  if (options.threshold > 0) {
    entry["none_of_them"] = none_of_them(image.prediction, options.threshold);
  }
  entry["classes"] = Json::array();
  for (const ClassScore& score : image.prediction.scores) {
    entry["classes"].push_back(score_json(score));
  }
  return json_text(entry);
}

// By hand, because a map has a hundred thousand values.
std::string embedding_json(const EmbeddedImage& image) {
  if (!image.error.empty()) {
    return fmt::format("{{\"file\":{},\"error\":{}}}", json_text(image.name),
                       json_text(image.error));
  }
  return embedding_json_begin(image.name, image.prediction.shape()) +
         embedding_json_values(image.prediction.values) + "]}";
}

std::string embedding_json_begin(const std::string& file, const std::vector<int>& shape) {
  return fmt::format("{{\"file\":{},\"shape\":[{}],\"values\":[", json_text(file),
                     fmt::join(shape, ","));
}

std::string embedding_json_values(std::span<const float> values) {
  return fmt::format("{}", fmt::join(values, ","));
}

namespace {

Json segmentation_entry(const ImageTitle& image, std::span<const int64_t> pixels,
                        const std::vector<std::string>& classes, const SegmentationFiles& files,
                        const std::vector<ImageWarning>& warnings) {
  Json entry = {{"file", image.name}, {"width", image.width}, {"height", image.height}};
  for (const auto& [key, file] : {std::pair{"overlay", &files.overlay},
                                  {"labels", &files.labels},
                                  {"probabilities", &files.probabilities},
                                  {"preview", &files.preview}}) {
    if (!file->empty()) entry[key] = *file;
  }
  if (!warnings.empty()) entry["warnings"] = as_list(warnings);
  entry["classes"] = Json::array();
  std::vector<std::pair<size_t, int64_t>> areas;
  for (size_t label = 0; label < pixels.size(); ++label) {
    if (pixels[label] > 0) areas.emplace_back(label, pixels[label]);
  }
  std::ranges::stable_sort(areas, std::greater(), &std::pair<size_t, int64_t>::second);
  const auto all = static_cast<double>(image.width) * static_cast<double>(image.height);
  for (const auto& [label, area] : areas) {
    Json row = {{"index", label}};
    if (label < classes.size()) row["name"] = classes[label];
    row["pixels"] = area;
    row["share"] = static_cast<double>(area) / all;
    entry["classes"].push_back(std::move(row));
  }
  return entry;
}

}  // namespace

std::string segmentation_json(const SegmentedImage& image, const std::vector<std::string>& classes,
                              const SegmentationFiles& files) {
  if (!image.error.empty()) {
    return json_text({{"file", image.name}, {"error", image.error}});
  }
  const LabelMap& labels = image.prediction.labels;
  std::array<int64_t, 256> pixels = {};
  for (const uint8_t label : labels.labels) ++pixels[label];
  return json_text(segmentation_entry({image.name, labels.width, labels.height}, pixels, classes,
                                      files, image.warnings));
}

std::string segmentation_json(const ImageTitle& image, std::span<const int64_t> pixels,
                              const std::vector<std::string>& classes,
                              const SegmentationFiles& files) {
  return json_text(segmentation_entry(image, pixels, classes, files, {}));
}

std::string detection_json(const Detection& detection, int64_t image_id, const std::string& file,
                           const std::vector<std::string>& classes,
                           const std::vector<ImageWarning>& warnings) {
  const auto label = static_cast<size_t>(detection.label);
  const Box& box = detection.box;
  Json entry = {{"image_id", image_id},
                {"category_id", detection.label + 1},
                {"bbox", Json::array({short_number(box.x1), short_number(box.y1),
                                      short_number(box.width()), short_number(box.height())})},
                {"score", short_number(detection.score)},
                {"segmentation",
                 {{"size", Json::array({detection.mask.height, detection.mask.width})},
                  {"counts", mask_text(detection.mask)}}},
                {"file_name", file}};
  if (label < classes.size()) entry["category_name"] = classes[label];
  if (!warnings.empty()) entry["warnings"] = as_list(warnings);
  return json_text(entry);
}

namespace {

Json calibration_json(const Calibration& calibration, double temperature) {
  const double best = calibration.best_temperature();
  Json json = {{"temperature", temperature},
               {"error", calibration.error(temperature)},
               {"best_temperature", best},
               {"best_error", calibration.error(best)},
               {"thresholds", Json::array()}};
  for (const double threshold : kListedThresholds) {
    const Calibration::Kept kept = calibration.kept(threshold, temperature);
    json["thresholds"].push_back(
        {{"threshold", threshold}, {"share", kept.share}, {"precision", kept.precision}});
  }
  return json;
}

}  // namespace

std::string evaluation_json(const EvaluationTitle& title, const Evaluation& result,
                            const Calibration* calibration, double temperature) {
  const ClassificationMetrics& metrics = result.metrics;
  Json json = {{"model", title.model},
               {"arch", title.arch},
               {"data", title.data},
               {"split", title.split},
               {"images", metrics.count},
               {"skipped", result.skipped},
               {"complete", result.complete},
               {"top1", metrics.top1()},
               {"top5", metrics.top5()},
               {"balanced_accuracy", metrics.balanced_accuracy()},
               {"macro_f1", metrics.macro_f1()},
               {"loss", metrics.loss()},
               {"seconds", result.seconds},
               {"images_per_second", result.images_per_second()},
               {"classes", Json::array()},
               {"confusion", Json::array()}};
  if (!metrics.has_top5()) json["top5"] = nullptr;
  const std::vector<ClassMetrics> classes = metrics.per_class();
  for (size_t i = 0; i < classes.size(); ++i) {
    json["classes"].push_back({{"index", i},
                               {"name", title.class_names[i]},
                               {"images", classes[i].count},
                               {"predicted", classes[i].predicted},
                               {"correct", classes[i].correct},
                               {"recall", classes[i].recall()},  // null when there is none
                               {"precision", classes[i].precision()}});
  }
  for (const auto& [pair, count] : metrics.confusion) {
    json["confusion"].push_back(
        {{"label", pair.first}, {"prediction", pair.second}, {"images", count}});
  }
  if (calibration != nullptr) json["calibration"] = calibration_json(*calibration, temperature);
  return json_text(json, 2);
}

}  // namespace vig
