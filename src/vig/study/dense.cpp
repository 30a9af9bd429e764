// The paper's tables of dense prediction: parameters, counts and times of segmentation and
// detection networks. Counts need no idle machine as times do, so they are rows of their own.
#include <fmt/format.h>

#include <set>

#include "vig/models/family.h"
#include "vig/study/bench_row.h"
#include "vig/study/counting.h"
#include "vig/study/dense_report.h"
#include "vig/study/list.h"

namespace vig::study {
namespace {

constexpr double kSeconds = 3;

std::vector<std::string> keys(const StudyOptions&) {
  std::vector<std::string> keys;
  for (const std::string& model : dense_models()) keys.push_back(counts_key(model));
  for (const std::string& model : dense_models()) keys.push_back(time_key(model));
  return keys;
}

int64_t count_parameters(const Graph& graph, const auto& counts) {
  int64_t sum = 0;
  for (const ParamSpec& param : graph.params) {
    if (param.trained && counts(param)) sum += param.shape.elements();
  }
  return sum;
}

// Parameters of a plain ViG with its classifier, which the adapter does not use.
void count_classifier(const std::string& backbone, const Graph& dense, GridSize size, Row& row) {
  const auto set = [&](const char* column, int64_t count) {
    row.set(column, fmt::format("{}", count));
  };
  // The classifier's head and last norm do not belong in front of maps.
  std::set<std::string> used;
  for (const ParamSpec& param : dense.params) used.insert(param.name);
  const Graph classifier = build_graph(find_model(backbone), size.height, size.width);
  const int64_t unused = count_parameters(
      classifier, [&](const ParamSpec& param) { return !used.contains("backbone." + param.name); });
  set("with_unused_classifier", unused + count_parameters(dense, [](const ParamSpec& param) {
                                  return param.name.starts_with("backbone.");
                                }));
}

Row count(const std::string& model) {
  const ModelSpec spec = find_model(model);
  const GridSize size = described_size(spec);
  const Graph graph = build_graph(spec, size.height, size.width);
  const BackboneCounts counts = count_backbone(graph);
  Row row;
  const auto set = [&](const char* column, int64_t count) {
    row.set(column, fmt::format("{}", count));
  };
  set("height", size.height);
  set("width", size.width);
  set("parameters", graph.param_count());
  set("backbone_parameters", count_parameters(graph, [](const ParamSpec& param) {
        return param.name.starts_with("backbone.");
      }));
  // The paper took the baselines' figures from their own papers, which count more.
  const bool baseline = model.starts_with("vit_") || model.starts_with("vrwkv_");
  set("as_the_paper", baseline ? counts.as_the_paper_baselines : counts.as_the_paper);
  set("with_what_it_misses", counts.with_what_it_misses);
  set("multiply_adds", counts.multiply_adds);
  const std::string backbone = backbone_of(model);
  if (own_backbones().contains(backbone)) count_classifier(backbone, graph, size, row);
  return row;
}

Row measure(const std::string& key, const StudyContext& context) {
  const std::string model = key.substr(0, key.find('/'));
  if (key == counts_key(model)) return count(model);
  Row row;
  measure_bench({.model = model, .fields = {}, .seconds = kSeconds}, context, row);
  return row;
}

}  // namespace

Study dense_study() {
  Study study;
  study.name = "dense";
  study.sentence =
      "Multiply-adds of the backbones of detection and segmentation, as a share of ViG's.";
  study.duration = "10 minutes";
  study.columns = {{"height"},
                   {"width"},
                   {"parameters"},
                   {"backbone_parameters"},
                   {"with_unused_classifier"},
                   {"as_the_paper"},
                   {"with_what_it_misses"},
                   {"multiply_adds"}};
  study.columns.insert(study.columns.end(), bench_columns().begin(), bench_columns().end());
  study.keys = keys;
  study.measure = measure;
  study.summary = dense_summary;
  study.present = present_dense;
  study.portable = [](const std::string& key) { return key.ends_with("/counts"); };
  study.settings = [](const StudyOptions& options) {
    return options.seconds > 0 ? fmt::format("seconds={:.6g}", options.seconds) : "";
  };
  return study;
}

}  // namespace vig::study
