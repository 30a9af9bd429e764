// The model that comes with the programs.
#pragma once

#include <filesystem>
#include <string>

namespace vig {

// VIG_DEFAULT_MODEL, or where that is unset or empty share/vig/default.safetensors beside the
// folder of `program`, a program or library: in a build that is a link to models/ in the source.
// Throws a usage error when there is no such file.
std::string default_model_file(const std::filesystem::path& program);

}  // namespace vig
