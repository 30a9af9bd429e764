#include "vig/pipeline/default_model.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "vig/base/error.h"

namespace vig {

namespace fs = std::filesystem;

namespace {

struct Default {
  const char* variable;
  const char* file;
  const char* what;
};

Default default_of(ModelTask task) {
  switch (task) {
    case ModelTask::kSegment:
      return {"VIG_SEGMENT_MODEL", "segment.safetensors", "default segmentation model"};
    case ModelTask::kDetect:
      return {"VIG_DETECT_MODEL", "detect.safetensors", "default detector"};
    case ModelTask::kClassify:
      break;
  }
  return {"VIG_DEFAULT_MODEL", "default.safetensors", "default model"};
}

}  // namespace

std::string default_model_file(const fs::path& program, ModelTask task) {
  const Default own = default_of(task);
  std::error_code error;
  if (const char* named = std::getenv(own.variable); named != nullptr && *named != '\0') {
    if (fs::exists(named, error)) return named;
    fail_usage("{} names {}, which is not there; name a weight file with -m FILE instead",
               own.variable, named);
  }
  const fs::path file = program.parent_path() / "../share/vig" / own.file;
  const fs::path found = fs::canonical(file, error);
  if (!error) return found.string();
  fail_usage("there is no {} at {}; name a weight file with -m FILE (--model)", own.what,
             file.lexically_normal().string());
}

}  // namespace vig
