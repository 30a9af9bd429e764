// Which network a checkpoint without metadata holds, and by whose names.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vig/models/family.h"
#include "vig/weights/checkpoint.h"

namespace vig {

// The fields that every checkpoint of `spec` shows by itself and that differ between published
// models of one variant: the number of classes, and the image size of the position table.
std::map<std::string, std::string> shape_fields(const ModelSpec& spec,
                                                const Checkpoint& checkpoint);

struct MatchingModel {
  ModelSpec spec;
  const PublishedNames* names = nullptr;         // that the file has; null: ours
  std::shared_ptr<const Checkpoint> checkpoint;  // by our names
};

// All models of the zoo whose parameters have the names and shapes of the file's tensors, apart
// from shape_fields, which are set. More than one when models differ only in what they compute.
// A published model hides the steps of the roadmap that equal it; miniatures are left out.
std::vector<MatchingModel> matching_models(std::shared_ptr<const Checkpoint> checkpoint);

}  // namespace vig
