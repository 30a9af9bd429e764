// Writing a model as one file that is all the engine needs.
#pragma once

#include <string>

#include "vig/pipeline/model_source.h"

namespace vig {

enum class Precision { kFloat, kHalf };

// Safetensors with the model's tensors alone, in the order of the graph, and its description in the
// metadata; other metadata of the source is kept. Raises when a tensor does not fit the model, or a
// number does not fit half precision. All or nothing; an existing file is replaced.
void save_model(const ModelSource& source, const std::string& path,
                Precision precision = Precision::kFloat);

}  // namespace vig
