// Exported files executed by plain loops in double, written from the definitions of ONNX's
// operators: what a file means, on machines that have no runtime for it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/onnx_runtime.h"

namespace vig::test {

// The first output of the file for these inputs. Throws where the file has an operator that vig
// does not write.
std::vector<float> evaluate_onnx(const std::string& bytes,
                                 const std::map<std::string, OnnxInput>& inputs);

}  // namespace vig::test
