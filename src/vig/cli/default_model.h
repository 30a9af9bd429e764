// The model that comes with the program.
#pragma once

#include <string>

namespace vig::cli {

// VIG_DEFAULT_MODEL, or where that is unset or empty share/vig/default.safetensors beside the
// folder of the program: in a build that is a link to models/ in the source. Throws a usage error
// when there is no such file.
std::string default_model_file();

}  // namespace vig::cli
