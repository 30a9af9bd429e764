// The paper's two tables of ImageNet results: parameters, multiply-adds and images/s of every
// model.
#include <fmt/format.h>

#include <algorithm>

#include "vig/base/error.h"
#include "vig/models/family.h"
#include "vig/study/bench_row.h"
#include "vig/study/counting.h"
#include "vig/study/list.h"
#include "vig/study/paper_tables.h"
#include "vig/study/throughput_report.h"

namespace vig::study {
namespace {

constexpr double kSeconds = 3;

std::vector<std::string> keys(const StudyOptions&) {
  std::vector<std::string> keys;
  for (const PaperRow& row : paper_rows()) keys.emplace_back(row.label);
  for (const std::string& model : other_models()) keys.push_back(model);
  for (const auto& [ours, other] : throughput_pairs())
    keys.push_back(throughput_pair_key(ours, other));
  return keys;
}

BenchRequest request_of(const std::string& key) {
  BenchRequest request = throughput_request(key);
  request.seconds = kSeconds;
  return request;
}

Row measure(const std::string& key, const StudyContext& context) {
  for (const auto& [ours, other] : throughput_pairs()) {
    if (key != throughput_pair_key(ours, other)) continue;
    Row row;
    measure_pair(request_of(std::string(ours)), request_of(std::string(other)), context, row);
    return row;
  }
  const BenchRequest request = request_of(key);
  Row row = throughput_counts(request);
  measure_bench(request, context, row);
  return row;
}

}  // namespace

BenchRequest throughput_request(const std::string& key) {
  BenchRequest request;
  const auto row = std::ranges::find(paper_rows(), key, &PaperRow::label);
  if (row == paper_rows().end()) {
    request.model = key;
  } else {
    request.model = row->model;
    request.fields = row->fields;
  }
  return request;
}

Row throughput_counts(const BenchRequest& request) {
  const ModelSpec spec = spec_of(request);
  const int size = spec.recipe.crop;
  const Graph graph = build_graph(spec, size, size);
  const Counts counts = count_ways(graph);
  Row row;
  row.set("size", size);
  row.set("parameters", fmt::format("{}", graph.param_count()));
  row.set("without_down_proj", fmt::format("{}", counts.without_down_proj));
  row.set("baselines_multiply_adds", fmt::format("{}", counts.baselines_way));
  row.set("dense_multiply_adds", fmt::format("{}", counts.all.dense));
  row.set("scan_multiply_adds", fmt::format("{}", counts.all.scan));
  return row;
}

Study throughput_study() {
  Study study;
  study.name = "throughput";
  study.sentence = "Parameters, multiply-adds and images/s of every model of the paper's tables.";
  study.duration = "20 minutes";
  study.columns = {{"size"}, {"parameters"}, {"without_down_proj"}, {"baselines_multiply_adds"}};
  study.columns.insert(study.columns.end(), bench_columns().begin(), bench_columns().end());
  study.columns.insert(study.columns.end(), pair_columns().begin(), pair_columns().end());
  study.keys = keys;
  study.measure = measure;
  study.summary = throughput_summary;
  study.present = present_throughput;
  study.settings = [](const StudyOptions& options) {
    return options.seconds > 0 ? fmt::format("seconds={:.6g}", options.seconds) : "";
  };
  return study;
}

}  // namespace vig::study
