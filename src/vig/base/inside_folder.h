// Whether a file really lies in a folder.
#pragma once

#include <filesystem>

namespace vig {

// With all links followed. `real_folder` is such a path itself (std::filesystem::canonical). False
// also for a file that is not there.
bool lies_inside(const std::filesystem::path& file, const std::filesystem::path& real_folder);

}  // namespace vig
