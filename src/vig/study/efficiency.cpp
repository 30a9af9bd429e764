// The paper's efficiency figure, (a) to (c): multiply-adds, memory and time against resolution.
#include <fmt/format.h>

#include <array>

#include "vig/base/error.h"
#include "vig/study/bench_row.h"
#include "vig/study/efficiency_report.h"
#include "vig/study/list.h"
#include "vig/study/onnxruntime.h"

namespace vig::study {
namespace {

constexpr int kPatch = 16;

// Bytes of the logits of one head of DeiT-T.
double logit_bytes(int size) {
  const double tokens = 1 + size / kPatch * (size / kPatch);
  return 4 * tokens * tokens;
}

std::vector<std::string> keys(const StudyOptions& options) {
  std::vector<std::string> keys;
  for (const int size : kEfficiencySizes) {
    for (const Contender& contender : contenders()) {
      if (contender.onnxruntime && !has_onnxruntime(options)) continue;
      keys.push_back(efficiency_key(contender, size));
    }
  }
  return keys;
}

// ONNX Runtime with our exported DeiT-T, in turns with our ViG-T.
void measure_onnxruntime(int size, const StudyContext& context, Row& row) {
  BenchRequest request;
  request.model = "vig_t";
  request.size = size;
  // Logits and softmax of all three heads, and a copy.
  request.bytes = 9 * logit_bytes(size) + 500e6;
  const MacCount macs = multiply_adds({.model = "deit_t", .fields = {}, .size = size});
  row.set("dense_multiply_adds", fmt::format("{}", macs.dense));
  row.set("scan_multiply_adds", fmt::format("{}", macs.scan));
  if (lacks_memory(request, row)) return;
  const auto [ours, baseline] = bench_onnxruntime(request, "deit_t", {}, context);
  const double best = figure(baseline, "best_quarter_ms").value_or(0);
  row.set("median_ms", figure(baseline, "median_ms").value_or(0));
  row.set("best_ms", best);
  row.set("spread", figure(baseline, "spread").value_or(0));
  row.set("images_per_second", 1e3 / best);
  if (const auto bytes = figure(baseline, "process_bytes")) row.set("process_bytes", *bytes);
  row.set("vig_t_ms", figure(ours, "best_quarter_ms").value_or(0));
  row.set("engine", baseline.at("engine"));
}

Row measure(const std::string& key, const StudyContext& context) {
  const size_t slash = key.find('/');
  const int size = std::stoi(key.substr(slash + 1));
  for (const Contender& contender : contenders()) {
    if (key.substr(0, slash) != contender.key) continue;
    Row row;
    if (contender.onnxruntime) {
      measure_onnxruntime(size, context, row);
      return row;
    }
    BenchRequest request{.model = contender.model, .fields = contender.fields, .size = size};
    request.seconds = size <= 1024 ? 3 : 2;
    if (!contender.fields.empty()) request.bytes = logit_bytes(size) + 200e6;
    measure_bench(request, context, row);
    row.set("engine", "vig " + context.version);
    return row;
  }
  fail("[efficiency] there is no row '{}'", key);
}

}  // namespace

Study efficiency_study() {
  Study study;
  study.name = "efficiency";
  study.sentence =
      "Multiply-adds, memory and time of ViG-T, DeiT-T, Vim-T and VRWKV-T from 224 to 2048 pixels.";
  study.duration = "15 minutes";
  study.columns = bench_columns();
  study.columns.push_back({"vig_t_ms"});  // of ViG-T, in turns with another engine
  study.columns.push_back({"engine", Column::Kind::kText});
  study.keys = keys;
  study.measure = measure;
  study.summary = efficiency_summary;
  study.present = present_efficiency;
  study.settings = [](const StudyOptions& options) {
    return options.seconds > 0 ? fmt::format("seconds={:.6g}", options.seconds) : "";
  };
  return study;
}

}  // namespace vig::study
