#include "onnx/onnx_runtime.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/files.h"
#include "support/run_program.h"
#include "support/tree.h"

namespace vig::test {
namespace {

const std::string kRunner = std::string(kSourceDir) + "/bench/baselines/onnxruntime.mjs";

RunResult talk(const std::string& file, const std::string& lines) {
  return run_program({"node", kRunner, file, "1"}, {.time_limit = 300, .input = lines});
}

std::filesystem::path packages() {
  const char* const named = std::getenv("VIG_BASELINES");
  return named != nullptr ? named : std::string(kSourceDir) + "/build/baselines";
}

}  // namespace

std::string onnx_runtime_missing() {
  if (!std::filesystem::exists(kRunner)) return "there is no " + kRunner;
  if (run_program({"node", "--version"}).exit_code != 0) return "node is not installed";
  if (std::filesystem::exists(packages() / "node_modules/onnxruntime-node")) return "";
  return "ONNX Runtime is not installed in " + packages().string();
}

std::vector<float> run_onnx(const std::string& bytes,
                            const std::map<std::string, OnnxInput>& inputs) {
  const TempDir folder;
  const std::string model = (folder / "model.onnx").string();
  write_file(model, bytes);
  nlohmann::json description;
  for (const auto& [name, input] : inputs) {
    const std::string file = (folder / (name + ".f32")).string();
    write_file(file, {reinterpret_cast<const char*>(input.values.data()),
                      input.values.size() * sizeof(float)});
    description[name] = {{"dims", input.dims}, {"file", file}};
  }
  write_file(folder / "in.json", description.dump());
  const std::string out = (folder / "out.f32").string();
  const RunResult result =
      talk(model, "runall " + (folder / "in.json").string() + " " + out + "\n");
  if (!std::filesystem::exists(out)) {
    throw std::runtime_error("ONNX Runtime: " + result.out + result.err);
  }
  const std::string raw = read_file(out);
  std::vector<float> values(raw.size() / sizeof(float));
  std::memcpy(values.data(), raw.data(), values.size() * sizeof(float));
  return values;
}

std::string optimized_onnx(const std::string& bytes) {
  const TempDir folder;
  const std::string model = (folder / "model.onnx").string(), out = model + ".out";
  write_file(model, bytes);
  const std::string script =
      "const [folder, file, out] = process.argv.slice(1);"
      "const ort = require('node:module').createRequire(folder + '/x.js')('onnxruntime-node');"
      "ort.InferenceSession.create(file, {optimizedModelFilePath: out, logSeverityLevel: 3});";
  const RunResult result = run_program({"node", "-e", script, packages().string(), model, out});
  if (!std::filesystem::exists(out)) {
    throw std::runtime_error("ONNX Runtime: " + result.out + result.err);
  }
  return read_file(out);
}

}  // namespace vig::test
