#include "vig/cli/onnx/write_onnx.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>

#include "vig/base/error.h"
#include "vig/onnx/export.h"
#include "vig/pipeline/save_model.h"
#include "vig/runtime/precision.h"
#include "vig/weights/atomic_file.h"

namespace vig::cli {
namespace {

InputSize image_size(const ModelSource& source, const ConvertOptions& options) {
  const GridSize own = described_size(source.spec);
  if (options.size.empty() || options.size == "any") return {own.height, own.width};
  return parse_size(options.size);
}

// The network for images of this size.
Graph build(const ModelSource& source, const InputSize& size) {
  const Graph graph = build_graph(source.spec, size.height, size.width);
  const std::string reason = difference(graph, *source.graph);
  if (!reason.empty()) {
    fail_usage("--size {}x{}: {} runs at its own size alone: {}", size.height, size.width,
               source.name, reason);
  }
  return graph;
}

// The same keys as in our weight files, and where the weights come from.
std::map<std::string, std::string> metadata(const ModelSource& source) {
  std::map<std::string, std::string> entries;
  for (const auto& [key, value] : describe_model(source)) {
    if (key != "format") entries[key] = value;  // of a weight file's tensors
  }
  entries["vig.version"] = VIG_VERSION;
  entries["vig.source"] = std::filesystem::path(source.name).filename().string();
  if (source.has_weights()) {
    entries["vig.source_bytes"] = std::to_string(source.checkpoint->file_bytes());
  }
  return entries;
}

}  // namespace

std::string write_onnx(const ModelSource& source, const ConvertOptions& options) {
  const InputSize size = image_size(source, options);
  const bool own_size = options.size.empty() || options.size == "any";
  if (own_size && source.has_weights()) check_own_work(source);
  const Graph graph = build(source, size);
  OnnxOptions wanted;
  wanted.ort = options.ort;
  wanted.any_size = options.size == "any";
  if (options.dtype == "int8") wanted.precision = {Arithmetic::kInt8, options.float_layers};
  check_float_layers(wanted.precision, std::span(&graph, 1));
  if (!options.outputs.empty()) wanted.outputs = options.outputs;
  wanted.metadata = metadata(source);
  AtomicFile file(options.out);
  file.commit_text(export_onnx(graph, *source_weights(source), wanted));
  const std::string sides =
      wanted.any_size ? "height, width" : fmt::format("{}, {}", size.height, size.width);
  const bool int8 = wanted.precision.arithmetic == Arithmetic::kInt8;
  return fmt::format("{}opset 17{}, image [batch, 3, {}]", int8 ? "float32 and int8, " : "",
                     wanted.ort ? " and com.microsoft" : "", sides);
}

}  // namespace vig::cli
