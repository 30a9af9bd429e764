// The models that come with the programs.
#pragma once

#include <filesystem>
#include <string>

#include "vig/models/config.h"

namespace vig {

// For a task: VIG_DEFAULT_MODEL (VIG_SEGMENT_MODEL, VIG_DETECT_MODEL), or where that is unset or
// empty share/vig/default.safetensors (segment.safetensors, detect.safetensors) beside the folder
// of `program`, a program or library: in a build that is a link to models/ in the source. Throws a
// usage error when there is no such file.
std::string default_model_file(const std::filesystem::path& program,
                               ModelTask task = ModelTask::kClassify);

}  // namespace vig
