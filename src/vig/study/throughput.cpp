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
  for (const PaperRow& row : paper_rows()) {
    if (is_built(row)) keys.emplace_back(row.label);
  }
  for (const std::string& model : other_models()) keys.push_back(model);
  return keys;
}

// The network of a key: a row of the paper's tables, or a model of the zoo besides.
BenchRequest request_of(const std::string& key) {
  BenchRequest request;
  request.seconds = kSeconds;
  const auto row = std::ranges::find(paper_rows(), key, &PaperRow::label);
  if (row == paper_rows().end()) {
    request.model = key;
  } else {
    request.model = row->model;
    request.fields = row->fields;
  }
  return request;
}

Row measure(const std::string& key, const StudyContext& context) {
  const BenchRequest request = request_of(key);
  const ModelSpec spec = spec_of(request);
  const int size = spec.recipe.crop;
  const Graph graph = build_graph(spec, size, size);
  const Counts counts = count_ways(graph);
  Row row;
  row.set("size", size);
  row.set("parameters", fmt::format("{}", graph.param_count()));
  row.set("without_down_proj", fmt::format("{}", counts.without_down_proj));
  row.set("baselines_multiply_adds", fmt::format("{}", counts.baselines_way));
  measure_bench(request, context, row);
  return row;
}

}  // namespace

Study throughput_study() {
  Study study;
  study.name = "throughput";
  study.sentence = "Parameters, multiply-adds and images/s of every model of the paper's tables.";
  study.duration = "10 minutes";
  study.columns = {{"size"}, {"parameters"}, {"without_down_proj"}, {"baselines_multiply_adds"}};
  study.columns.insert(study.columns.end(), bench_columns().begin(), bench_columns().end());
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
