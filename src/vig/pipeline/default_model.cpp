#include "vig/pipeline/default_model.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

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

// The folder of the shared library that holds this function; empty where a program does, or where
// the library was opened by a relative name, whose folder may no longer be the current one.
fs::path library_folder() {
  Dl_info info;
  link_map* map = nullptr;
  const bool known = dladdr1(reinterpret_cast<const void*>(&default_of), &info,
                             reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0;
  const fs::path file = known && map != nullptr ? map->l_name : "";  // a program has no name here
  return file.is_absolute() ? file.parent_path() : fs::path();
}

std::vector<fs::path> model_folders() {
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  std::vector<fs::path> folders = {program.parent_path() / "../share/vig"};
  if (const fs::path library = library_folder(); !library.empty()) {
    folders.push_back(library / "../share/vig");     // of PREFIX/lib
    folders.push_back(library / "../../share/vig");  // of PREFIX/lib/x86_64-linux-gnu
  }
  folders.emplace_back(VIG_INSTALLED_MODELS);
  return folders;
}

}  // namespace

std::string default_model_file(ModelTask task) {
  const Default own = default_of(task);
  std::error_code error;
  if (const char* named = std::getenv(own.variable); named != nullptr && *named != '\0') {
    if (fs::exists(named, error)) return named;
    fail_usage("{} names {}, which is not there; name a weight file with -m FILE instead",
               own.variable, named);
  }
  const std::vector<fs::path> folders = model_folders();
  for (const fs::path& folder : folders) {
    const fs::path found = fs::canonical(folder / own.file, error);
    if (!error) return found.string();
  }
  fail_usage("there is no {} at {}; name a weight file with -m FILE (--model) or {}", own.what,
             (folders.front() / own.file).lexically_normal().string(), own.variable);
}

std::string resolve_model(const std::string& name, ModelTask task) {
  if (name.empty()) return default_model_file(task);
  if (name == "default") return default_model_file(ModelTask::kClassify);
  if (name == "segment") return default_model_file(ModelTask::kSegment);
  if (name == "detect") return default_model_file(ModelTask::kDetect);
  return name;
}

}  // namespace vig
