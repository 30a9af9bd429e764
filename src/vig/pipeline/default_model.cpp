#include "vig/pipeline/default_model.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "vig/base/error.h"

namespace vig {

namespace fs = std::filesystem;

std::string default_model_file(const fs::path& program) {
  std::error_code error;
  if (const char* named = std::getenv("VIG_DEFAULT_MODEL"); named != nullptr && *named != '\0') {
    if (fs::exists(named, error)) return named;
    fail_usage(
        "VIG_DEFAULT_MODEL names {}, which is not there; name a weight file with -m FILE instead",
        named);
  }
  const fs::path file = program.parent_path() / "../share/vig/default.safetensors";
  const fs::path found = fs::canonical(file, error);
  if (!error) return found.string();
  fail_usage("there is no default model at {}; name a weight file with -m FILE (--model)",
             file.lexically_normal().string());
}

}  // namespace vig
