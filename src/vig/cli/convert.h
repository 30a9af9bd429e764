// `vig convert`, whose options are the same in `vig` and in vig-onnx, which writes ONNX files.
#pragma once

#include <string>
#include <vector>

#include "vig/cli/commands.h"
#include "vig/cli/options.h"

namespace vig::cli {

struct ConvertOptions {
  ModelOptions model;
  std::string out;
  std::string classes;                    // a file, "imagenet", "none" or empty
  std::string dtype;                      // empty: as stored
  std::vector<std::string> float_layers;  // with the dtype int8: layers that stay float
  bool ema = false;
  bool random = false;
  bool force = false;
  // Of a classifier's probabilities; below 0: those of IN.
  double temperature = -1;
  double threshold = -1;
  std::string size;  // "224" or empty; of ONNX files also "384x512" or "any"
  // Of ONNX files.
  std::vector<std::string> outputs;  // empty: logits
  bool ort = false;
};

bool is_onnx(const std::string& path);

// Writes an ONNX file; gives what there is to say about its contents.
using OnnxWriter = std::string (*)(const ModelSource& source, const ConvertOptions& options);

// Without a writer ONNX files are refused: another program writes them (helper_program.h).
void add_convert(CommandLine& line, OnnxWriter onnx);

}  // namespace vig::cli
