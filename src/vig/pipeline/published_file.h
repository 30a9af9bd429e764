// A checkpoint as its publisher wrote it: by whose names, and how its images are prepared.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "vig/models/family.h"
#include "vig/weights/checkpoint.h"

namespace vig {

// What is known of a checkpoint besides its tensors.
struct FileOrigin {
  std::string network;           // the publisher's name of it, or the file's own without a folder
  std::optional<Recipe> recipe;  // of the config.json beside it
};

// By the name of the file alone.
FileOrigin origin_of_name(const std::string& path);
// Also by the config.json beside timm's files on the Hugging Face hub, whose names there are
// model.safetensors and pytorch_model.bin. Throws where it describes a network that is not built.
FileOrigin origin_of_file(const std::string& path);

// The names that the tensors of a checkpoint of the family have; null: ours.
const PublishedNames* published_names(const Family& family, const Checkpoint& checkpoint);
std::shared_ptr<const Checkpoint> with_our_names(const Checkpoint& checkpoint,
                                                 const PublishedNames& names);

// Sets the fields and the recipe that the publisher's networks have; `names` as above. Gives whose
// recipe it is; empty: the model's own.
std::string adopt_publication(ModelSpec& spec, const PublishedNames* names,
                              const FileOrigin& origin);

}  // namespace vig
