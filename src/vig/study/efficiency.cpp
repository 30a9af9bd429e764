// The paper's efficiency figure, (a) to (c): multiply-adds, memory and time against resolution.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "vig/base/error.h"
#include "vig/base/memory.h"
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

// What a contender with fields keeps of an image: logits of one head, or logits and softmax of all
// three.
double kept_bytes(const Contender& contender, int size) {
  if (contender.fields.empty()) return 0;
  return (contender.key.ends_with("eager") ? 7 : 1) * logit_bytes(size) + 200e6;
}

std::vector<std::string> keys(const StudyOptions& options) {
  std::vector<std::string> keys;
  for (const int size : kEfficiencySizes) {
    for (const Contender& contender : contenders()) {
      if (contender.onnxruntime && !has_onnxruntime(options)) continue;
      keys.push_back(efficiency_key(contender, size));
    }
  }
  for (const int size : kEfficiencySizes) {
    if (size == kEfficiencySizes.front()) continue;
    for (const Contender& contender : compared_contenders()) {
      keys.push_back(efficiency_pair_key(contender, size));
    }
  }
  for (const int size : kLargestBatchSizes) {
    for (const Contender& contender : contenders()) {
      if (!contender.onnxruntime) keys.push_back(largest_batch_key(contender, size));
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

// What an image needs is measured with one; all of them may take this share of the memory.
Row measure_largest_batch(const Contender& contender, int size, const StudyContext& context) {
  constexpr double kShare = 0.6;
  constexpr int kMostImages = 64;
  BenchRequest request{.model = contender.model, .fields = contender.fields, .size = size};
  request.bytes = kept_bytes(contender, size);
  request.seconds = 0.1;
  Row one;
  measure_bench(request, context, one);
  const auto bytes = one.number("activation_bytes");
  if (!bytes) return one;
  const double fitting = kShare * static_cast<double>(physical_memory()) / std::max(1.0, *bytes);
  request.batch = static_cast<int>(std::clamp(fitting, 1.0, double{kMostImages}));
  request.seconds = 3;
  Row row;
  measure_bench(request, context, row);
  row.set("batch", fmt::format("{}", request.batch));
  row.set("engine", "vig " + context.version);
  return row;
}

Row measure(const std::string& key, const StudyContext& context) {
  for (const int size : kLargestBatchSizes) {
    for (const Contender& contender : contenders()) {
      if (key == largest_batch_key(contender, size)) {
        return measure_largest_batch(contender, size, context);
      }
    }
  }
  const int size = std::stoi(key.substr(key.rfind('/') + 1));
  for (const Contender& contender : compared_contenders()) {
    if (key != efficiency_pair_key(contender, size)) continue;
    Row row;
    measure_pair({.model = "vig_t", .fields = {}, .size = size},
                 {.model = contender.model, .fields = contender.fields, .size = size}, context,
                 row);
    return row;
  }
  const size_t slash = key.find('/');
  for (const Contender& contender : contenders()) {
    if (key.substr(0, slash) != contender.key) continue;
    Row row;
    if (contender.onnxruntime) {
      measure_onnxruntime(size, context, row);
      return row;
    }
    BenchRequest request{.model = contender.model, .fields = contender.fields, .size = size};
    request.seconds = size <= 1024 ? 3 : 2;
    request.bytes = kept_bytes(contender, size);
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
  study.duration = "40 minutes";
  study.columns = bench_columns();
  study.columns.insert(study.columns.end(), pair_columns().begin(), pair_columns().end());
  study.columns.push_back({"batch"});     // of rows with more than one image
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
