// The paper's figure of attention maps: what the two directions of a layer take from the image for
// a token on an object, and how much of the merged map lies on the object.
//
// Rows are the numbers of annotated images, "1" the first: `layer`, `tokens` (of a side), `overlap`
// (of the absolute maps of the two directions, each with sum 1: the sum of their minima), `merged`,
// `forward` and `backward` (share of the absolute map on the object), `area` (of the object, as a
// share of what the network sees), and of the first images the maps as text.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "vig/base/error.h"
#include "vig/data/coco.h"
#include "vig/image/preprocess.h"
#include "vig/pipeline/explainer.h"
#include "vig/pipeline/model_source.h"
#include "vig/pipeline/runner.h"
#include "vig/study/claims.h"
#include "vig/study/list.h"
#include "vig/study/miniature.h"
#include "vig/study/receptive_field.h"

namespace vig::study {
namespace {

constexpr int kImagesUsed = 40;
constexpr int kShownImages = 4;
constexpr int kLeastSide = 16;  // tokens of a side that a map needs to show an object

struct MapName {
  const char *column, *share, *title;
};
constexpr std::array<MapName, 3> kMaps = {{{"forward_map", "forward", "forward"},
                                           {"backward_map", "backward", "backward"},
                                           {"merged_map", "merged", "merged"}}};

std::vector<std::string> attention_keys(const StudyOptions&) {
  std::vector<std::string> keys;
  for (int i = 1; i <= kImagesUsed; ++i) keys.push_back(fmt::format("{}", i));
  return keys;
}

// The share of each token's part of the image that the object covers, sampled at 4 x 4 positions.
std::vector<double> coverage_of(const Object& object, const Placement& placement, int height,
                                int width) {
  constexpr int kSamples = 4;
  const std::vector<uint8_t> pixels = decode_mask(object.mask);
  std::vector<double> coverage(static_cast<size_t>(height) * static_cast<size_t>(width));
  const auto sample = [&](double row, double column) {
    const double x = placement.source_x(column * placement.input_width / width),
                 y = placement.source_y(row * placement.input_height / height);
    if (x < 0 || y < 0 || x >= object.mask.width || y >= object.mask.height) return 0.0;
    return static_cast<double>(
        pixels[static_cast<size_t>(y) * static_cast<size_t>(object.mask.width) +
               static_cast<size_t>(x)]);
  };
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      double sum = 0;
      for (int i = 0; i < kSamples * kSamples; ++i) {
        sum +=
            sample(row + (i / kSamples + 0.5) / kSamples, column + (i % kSamples + 0.5) / kSamples);
      }
      coverage[static_cast<size_t>(row) * static_cast<size_t>(width) +
               static_cast<size_t>(column)] = sum / (kSamples * kSamples);
    }
  }
  return coverage;
}

// The object of which the network sees most, and how it covers a fine grid over what is seen.
struct SeenObject {
  const Object* object = nullptr;  // none is seen
  std::vector<double> coverage;
};
constexpr int kFineGrid = 32;
SeenObject largest_seen(const Objects& all, const Placement& placement) {
  SeenObject largest;
  double most = 0;
  for (const Object& one : all.objects) {
    if (one.crowd || one.mask.runs.empty()) continue;
    std::vector<double> coverage = coverage_of(one, placement, kFineGrid, kFineGrid);
    const double area = std::accumulate(coverage.begin(), coverage.end(), 0.0);
    if (area <= most) continue;
    most = area;
    largest = {&one, std::move(coverage)};
  }
  return largest;
}

// Absolute values with sum 1.
std::vector<double> weights_of(const TokenMap& map) {
  std::vector<double> weights;
  double sum = 0;
  for (const float value : map.values) {
    weights.push_back(std::abs(static_cast<double>(value)));
    sum += weights.back();
  }
  for (double& weight : weights) weight = sum > 0 ? weight / sum : 0;
  return weights;
}

double on_object(const std::vector<double>& weights, const std::vector<double>& coverage) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) sum += weights[i] * coverage[i];
  return sum;
}

std::string map_text(const TokenMap& map) {
  ReceptiveField field(map.width);
  std::vector<float> colours;
  for (const float value : map.values) colours.insert(colours.end(), {value, 0, 0});
  field.add(colours);
  return field.text(map.width);
}

LayerAttention attention_at(const Explainer& explainer, const CocoDataset& image, double x,
                            double y, int layer) {
  std::vector<ImageAttention> found;
  explainer.attention(image, {x, y, layer, -1, Explainer::Direction::kAll}, collect_results(found));
  if (found.empty() || !found[0].error.empty()) {
    fail("{}", found.empty() ? "[attention] no result" : found[0].error);
  }
  return found[0].prediction;
}

// Of the last layer with enough tokens.
LayerAttention last_large_layer(const Explainer& explainer, const CocoDataset& image, double x,
                                double y) {
  const int layers = static_cast<int>(attention_heads(explainer.runner().graph()).size());
  for (int layer = layers - 1; layer >= 0; --layer) {
    LayerAttention found = attention_at(explainer, image, x, y, layer);
    if (found.map.height >= kLeastSide && found.map.width >= kLeastSide) return found;
  }
  fail_usage("--model: expected a network with a layer of {0} x {0} tokens or more", kLeastSide);
}

Row measure_attention(const std::string& key, const StudyContext& context) {
  if (context.options.data.empty()) {
    fail_usage("--data: expected images with COCO's annotations and masks, found nothing");
  }
  const CocoSplits splits = open_coco(context.options.data, {.splits = {"val"}});
  const std::optional<CocoDataset>& data = splits.val ? splits.val : splits.whole;
  if (!data) fail("{}: holds no split val", context.options.data);
  const size_t index = static_cast<size_t>(std::stoi(key)) - 1;
  Row row;
  if (index >= data->size()) {
    row.note = fmt::format("left out: there are {} images", data->size());
    return row;
  }
  const Objects objects = data->objects(index);
  ModelRequest request;
  request.model = context.options.model;
  RunOptions run;
  run.threads = context.options.threads;
  const Explainer explainer(require_weights(find_source(request)), run);
  const Recipe recipe = explainer.runner().recipe();
  const Placement placement = place(recipe, data->width(index), data->height(index));
  const SeenObject seen = largest_seen(objects, placement);
  if (seen.object == nullptr) {
    row.note = "left out: the network sees no object with a mask";
    return row;
  }
  // Where the object covers most: a position inside of it.
  const auto inside = std::ranges::max_element(seen.coverage) - seen.coverage.begin();
  const std::array<size_t, 1> only = {index};
  const LayerAttention found = last_large_layer(
      explainer, data->subset(only), (static_cast<double>(inside % kFineGrid) + 0.5) / kFineGrid,
      (static_cast<double>(inside / kFineGrid) + 0.5) / kFineGrid);
  if (found.directions.size() != 2) {
    fail_usage("--model: expected a network with gated linear attention in two directions");
  }
  const int side = found.map.width;
  const std::vector<double> coverage =
      coverage_of(*seen.object, placement, found.map.height, found.map.width);
  const std::vector<double> forward = weights_of(found.directions[0]),
                            backward = weights_of(found.directions[1]),
                            merged = weights_of(found.map);
  double overlap = 0, area = 0;
  for (size_t i = 0; i < merged.size(); ++i) {
    overlap += std::min(forward[i], backward[i]);
    area += coverage[i] / static_cast<double>(merged.size());
  }
  row.set("layer", fmt::format("{}", found.layer));
  row.set("tokens", fmt::format("{}", side));
  row.set("overlap", overlap);
  row.set("merged", on_object(merged, coverage));
  row.set("forward", on_object(forward, coverage));
  row.set("backward", on_object(backward, coverage));
  row.set("area", area);
  if (index < kShownImages && found.map.height == side) {
    row.set("forward_map", map_text(found.directions[0]));
    row.set("backward_map", map_text(found.directions[1]));
    row.set("merged_map", map_text(found.map));
  }
  return row;
}

std::vector<double> column_of(const Results& results, const char* column) {
  std::vector<double> values;
  for (const Row& row : results.rows) {
    if (const auto value = row.number(column)) values.push_back(*value);
  }
  return values;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

std::vector<Claim> attention_claims(const Results& results) {
  const std::vector<double> overlap = column_of(results, "overlap"),
                            merged = column_of(results, "merged"),
                            area = column_of(results, "area");
  Claim complement{"Forward and backward attention complement each other (figure 5)", "maps", ""};
  const std::vector<double> zeros(overlap.size());
  if (const auto share = paired_difference(zeros, overlap)) {
    complement.here = fmt::format("an overlap of {:.1f} % ({:.1f} to {:.1f})", 100 * share->value,
                                  100 * share->low, 100 * share->high);
    complement.verdict = share->high < 0.5  ? Verdict::kHolds
                         : share->low > 0.5 ? Verdict::kFails
                                            : Verdict::kUndecided;
    complement.remark =
        "less than half is common to both; by construction only the token itself can be";
  }
  Claim context{"The merged attention captures the prominent 2D context (figure 5)", "maps", ""};
  if (const auto gain = paired_difference(area, merged)) {
    context.here = fmt::format("{:.1f} % of the map on the object, which is {:.1f} % of the image",
                               100 * mean_of(merged), 100 * mean_of(area));
    context.verdict = has_sign(gain, true);
    context.remark = fmt::format("difference {} points, {} images, 95 % interval",
                                 points_text(gain), merged.size());
  }
  return {complement, context};
}

Presentation present_attention(const Results& results) {
  Presentation shown;
  shown.claims = attention_claims(results);
  std::vector<FieldRow> sheet;
  for (const Row& row : results.rows) {
    if (row.text("merged_map").empty()) continue;
    FieldRow fields{fmt::format("image {}", row.key), {}};
    for (const MapName& map : kMaps) {
      fields.tiles.push_back(
          {map.title,
           fmt::format("{:.0f} % on the object", 100 * row.number(map.share).value_or(0)),
           field_image(row.text(map.column))});
    }
    sheet.push_back(std::move(fields));
  }
  shown.svg = field_sheet_svg("Attention maps of a token on the largest object", sheet);
  std::vector<std::vector<std::string>> table;
  for (const auto& [name, column] :
       {std::pair("share of the merged map on the object", "merged"),
        std::pair("of the forward map", "forward"), std::pair("of the backward map", "backward"),
        std::pair("area of the object", "area"),
        std::pair("overlap of the directions", "overlap")}) {
    const std::vector<double> values = column_of(results, column);
    table.push_back({name, values.empty() ? "" : fmt::format("{:.1f} %", 100 * mean_of(values)),
                     fmt::format("{}", values.size())});
  }
  const std::vector<double> tokens = column_of(results, "tokens");
  shown.markdown =
      conditions_sentence(results) +
      fmt::format(
          "\n\nThe last layer with at least {0} x {0} tokens{1}; the token "
          "lies on the object that covers most of what the network sees. Shares are of absolute "
          "weights, "
          "means over the heads.\n\n",
          kLeastSide, tokens.empty() ? "" : fmt::format(" (here {0:.0f} x {0:.0f})", tokens[0])) +
      markdown_table({"figure", "mean:", "images:"}, table) + "\n" + claims_markdown(shown.claims);
  return shown;
}

}  // namespace

Study attention_study() {
  Study study;
  study.name = "attention";
  study.sentence = "Attention maps of both directions, and their share on annotated objects.";
  study.arguments = " --data coco-mini";
  study.duration = "2 minutes";
  study.columns = {{"layer"},   {"tokens"},   {"overlap"}, {"merged"},
                   {"forward"}, {"backward"}, {"area"}};
  for (const MapName& map : kMaps) study.columns.push_back({map.column, Column::Kind::kText});
  study.keys = attention_keys;
  study.measure = measure_attention;
  study.summary = [](const Row& row) {
    return fmt::format("{:.0f} % of the merged map on {:.0f} % of the image",
                       100 * row.number("merged").value_or(0),
                       100 * row.number("area").value_or(0));
  };
  study.present = present_attention;
  study.portable = [](const std::string&) { return true; };
  study.settings = [](const StudyOptions& options) {
    const std::filesystem::path model = options.model;
    return fmt::format("data={} model={}", data_name(options),
                       model.empty() ? "default" : model.filename().string());
  };
  return study;
}

}  // namespace vig::study
