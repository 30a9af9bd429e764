// Writing a model as one file that is all the engine needs.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vig/pipeline/model_source.h"

namespace vig {

// Throws a usage error unless the name ends in ".safetensors": a file's format follows its name,
// and that is the one we write.
void check_output_format(const std::string& path);

// The description of the model for the metadata of a file (weights/model_info.h), with the other
// metadata of its source; of a name it says that weights are random.
Metadata describe_model(const ModelSource& source);

// Safetensors with the model's tensors alone, in the order of the graph, and its description in the
// metadata (describe_model); of a name, the random weights of source_weights. Each tensor keeps its
// stored type and bits, or is rounded to `dtype` (F32, F16 or BF16; with I8 the weights of layers
// that use int8 and are not among `float_layers` become codes with scales, and others keep their
// type, or are F32 where they were codes). Gives the types written. Throws for a name of another
// format, when a tensor does not fit the model, and when a finite number does not fit `dtype`. All
// or nothing; an existing file is replaced.
std::set<DType> save_model(const ModelSource& source, const std::string& path,
                           std::optional<DType> dtype = std::nullopt,
                           const std::vector<std::string>& float_layers = {});

}  // namespace vig
