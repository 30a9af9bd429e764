// Networks of the runtime's tests beside their exported files: inputs and outputs in the layout of
// files, where values of several rows are planes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/onnx_runtime.h"
#include "runtime/networks.h"

namespace vig::test {

// What executes a file: ONNX Runtime, or the definitions of its operators.
using Executor = Values (*)(const std::string& bytes, const std::map<std::string, OnnxInput>&);

// All inputs of a graph for a batch of images, from one list of values for each image.
std::map<std::string, OnnxInput> file_inputs(const Graph& graph, const std::vector<Values>& images);

// The engine's last output for the same images.
Values engine_output(const Network& network, const std::vector<Values>& images);

// The largest difference as a share of the largest expected value.
double distance(const Values& actual, const Values& expected);

}  // namespace vig::test
