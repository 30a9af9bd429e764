// A graph with its weights as an ONNX file: operators of opset 17 alone, so that other runtimes can
// execute it (docs/onnx.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vig/graph/graph.h"
#include "vig/weights/load.h"

namespace vig {

struct OnnxOptions {
  // Gated linear attention as ONNX Runtime's own operator com.microsoft.LinearAttention.
  bool ort = false;
  // Height and width of the image are symbolic, too. Throws a usage error that names the
  // operation where one of the graph fixes the size.
  bool any_size = false;
  // With int8, matrix products of layers that use it (runtime/precision.h) are written as dynamic
  // quantisation: activations of a whole tensor as bytes, weights as codes.
  Precision precision;
  std::vector<std::string> outputs = {"logits"};  // names of the graph's outputs
  std::map<std::string, std::string> metadata;    // properties of the file
};

// The bytes of the file, passed by onnx's own checker with shape inference.
//
// Inputs and outputs have the graph's names and a symbolic first axis "batch". An input or output
// of several rows is planes [batch, C, H, W], one of a single row a sequence [batch, T, C]; an
// output of a single position is [batch, C]. Throws when the file would not fit the 2 GB of a
// protocol buffer, and a usage error for an output that the graph does not have, or where int8 is
// asked for and no layer can be written so.
std::string export_onnx(const Graph& graph, const Weights& weights, const OnnxOptions& options);

}  // namespace vig
