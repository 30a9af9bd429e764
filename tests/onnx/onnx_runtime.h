// Exported files executed by ONNX Runtime, where bench/baselines/install.sh has installed it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vig::test {

struct OnnxInput {
  std::vector<int64_t> dims;
  std::vector<float> values;
};

// Why it cannot be used here; empty where it can.
std::string onnx_runtime_missing();

// The first output of the file for these inputs. Throws what ONNX Runtime says where it refuses.
std::vector<float> run_onnx(const std::string& bytes,
                            const std::map<std::string, OnnxInput>& inputs);

// The file that ONNX Runtime makes of this one: with the operators that it will execute.
std::string optimized_onnx(const std::string& bytes);

}  // namespace vig::test
