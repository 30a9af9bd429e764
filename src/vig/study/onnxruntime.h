// ONNX Runtime as `vig bench --baseline` starts it, where bench/baselines is installed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "vig/study/bench_row.h"
#include "vig/study/study.h"

namespace vig::study {

bool has_onnxruntime(const StudyOptions& options);

struct OnnxRuntimeFigures {
  Figures ours, baseline;
};
// Exports `network` with random weights (and more options of vig convert), and measures it in ONNX
// Runtime in turns with the network of the request. Files of the row are removed.
OnnxRuntimeFigures bench_onnxruntime(const BenchRequest& request, const std::string& network,
                                     const std::vector<std::string>& convert,
                                     const StudyContext& context);

}  // namespace vig::study
