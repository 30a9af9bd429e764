// Which network a checkpoint without metadata holds.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vig/models/registry.h"
#include "vig/weights/checkpoint.h"

namespace vig {

// The fields that every checkpoint of `spec` shows by itself and that differ between published
// models of one variant: the number of classes, and the image size of the position table.
std::map<std::string, std::string> shape_fields(const ModelSpec& spec,
                                                const Checkpoint& checkpoint);

// All models of the zoo whose parameters have the names and shapes of the file's tensors, apart
// from shape_fields, which are set. More than one when models differ only in what they compute.
// A published model hides the steps of the roadmap that equal it; miniatures are left out.
std::vector<ModelSpec> matching_models(const Checkpoint& checkpoint);

}  // namespace vig
