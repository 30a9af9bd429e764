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

}  // namespace

std::string onnx_runtime_missing() {
  if (!std::filesystem::exists(kRunner)) return "there is no " + kRunner;
  if (run_program({"node", "--version"}).exit_code != 0) return "node is not installed";
  const char* const named = std::getenv("VIG_BASELINES");
  const std::filesystem::path folder =
      named != nullptr ? named : std::string(kSourceDir) + "/build/baselines";
  if (std::filesystem::exists(folder / "node_modules/onnxruntime-node")) return "";
  return "ONNX Runtime is not installed in " + folder.string();
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

}  // namespace vig::test
