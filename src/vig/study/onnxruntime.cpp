#include "vig/study/onnxruntime.h"

#include <fmt/format.h>

#include "vig/base/error.h"
#include "vig/study/child.h"

namespace vig::study {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBaselineScript = "../../bench/baselines/onnxruntime.mjs";

// Its script; empty where it is not installed.
std::string baseline_script(const StudyOptions& options) {
  if (options.baselines.empty()) return "";
  const fs::path script = (fs::path(options.baselines) / kBaselineScript).lexically_normal();
  std::error_code ignored;
  const bool there =
      fs::exists(script, ignored) &&
      fs::exists(fs::path(options.baselines) / "node_modules/onnxruntime-node", ignored);
  return there ? script.string() : "";
}

// 'a b' for a shell.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

}  // namespace

bool has_onnxruntime(const StudyOptions& options) { return !baseline_script(options).empty(); }

OnnxRuntimeFigures bench_onnxruntime(const BenchRequest& request, const std::string& network,
                                     const std::vector<std::string>& convert,
                                     const StudyContext& context) {
  const fs::path file = context.folder / fmt::format("{}-{}.onnx", network, request.size);
  std::vector<std::string> arguments = {"convert",  network,  file.string(),
                                        "--random", "--size", fmt::format("{}", request.size),
                                        "--force"};
  arguments.insert(arguments.end(), convert.begin(), convert.end());
  run_vig(arguments, context.folder / "row.log", context);
  const std::string command =
      fmt::format("VIG_BASELINES={} exec node {} {} \"$VIG_THREADS\"",
                  quoted(fs::absolute(context.options.baselines).string()),
                  quoted(baseline_script(context.options)), quoted(fs::absolute(file).string()));
  std::vector<std::string> options = {"--baseline", command};
  if (network != request.model) options.insert(options.end(), {"--baseline-other", network});
  options.insert(options.end(), {"--baseline-timeout", "600"});
  const std::vector<Figures> results = run_bench(request, options, context);
  std::error_code ignored;
  fs::remove(file, ignored);
  if (results.size() != 2) fail("vig bench --baseline gave {} results", results.size());
  return {results[0], results[1]};
}

}  // namespace vig::study
