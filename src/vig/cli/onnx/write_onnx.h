// The ONNX output of `vig convert`.
#pragma once

#include <string>

#include "vig/cli/convert.h"

namespace vig::cli {

// Writes options.out, all or nothing; gives the file's inputs and outputs in words.
std::string write_onnx(const ModelSource& source, const ConvertOptions& options);

}  // namespace vig::cli
