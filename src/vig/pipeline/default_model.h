// The models that come with vig.
#pragma once

#include <string>

#include "vig/models/config.h"

namespace vig {

// The file of a task's bundled model: VIG_DEFAULT_MODEL (VIG_SEGMENT_MODEL, VIG_DETECT_MODEL), or
// where that is unset or empty default.safetensors (segment.safetensors, detect.safetensors) in the
// first of these folders that has it: share/vig beside the folder of this program, the same beside
// or one above the folder of the shared library that this code is part of, share/vig of the
// configured install prefix. In a build the file is a link to models/ in the source. Throws a usage
// error when there is no such file.
std::string default_model_file(ModelTask task = ModelTask::kClassify);

// What a model's name means: "default", "segment" and "detect" are the files of the bundled models,
// an empty name is the bundled model of `task`, and any other name is given back. A file of such a
// name in the current folder is ./NAME.
std::string resolve_model(const std::string& name, ModelTask task = ModelTask::kClassify);

}  // namespace vig
