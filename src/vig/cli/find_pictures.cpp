#include "vig/cli/find_pictures.h"

#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "vig/base/error.h"
#include "vig/image/decode.h"

namespace vig::cli {
namespace {

namespace fs = std::filesystem;

// Links to folders are not followed: they may lead in circles.
void walk(const fs::path& folder, FoundPictures& found) {
  std::error_code error;
  std::vector<fs::path> entries;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    entries.push_back(entry->path());
  }
  if (error) {
    found.problems.push_back(
        fmt::format("{}: cannot read the folder: {}", folder.string(), error.message()));
  }
  std::sort(entries.begin(), entries.end());
  for (const fs::path& path : entries) {
    const fs::file_status status = fs::symlink_status(path, error);
    if (fs::is_directory(status)) {
      walk(path, found);
    } else if (has_picture_extension(path.filename().native()) && !fs::is_directory(path, error)) {
      found.files.push_back(path.string());
    }
  }
}

std::vector<std::string> expand(const std::string& pattern) {
  glob_t matches = {};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0) {  // sorted by glob itself
    paths.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  }
  globfree(&matches);
  return paths;
}

void add(const std::string& path, FoundPictures& found) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    walk(path, found);
  } else {
    found.files.push_back(path);
  }
}

}  // namespace

FoundPictures find_pictures(const std::vector<std::string>& arguments) {
  FoundPictures found;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    const bool pattern = argument.find_first_of("*?[") != std::string::npos;
    if (!pattern || fs::exists(argument, ignored)) {
      add(argument, found);
      continue;
    }
    const std::vector<std::string> paths = expand(argument);
    if (paths.empty()) {
      found.problems.push_back(
          fmt::format("{}: found no pictures: nothing matches the pattern", argument));
    }
    for (const std::string& path : paths) add(path, found);
  }
  if (found.files.empty()) {
    if (!found.problems.empty()) fail("{}", found.problems.front());
    fail("{}: found no pictures there; in folders these are files ending in {}",
         fmt::join(arguments, ", "), fmt::join(picture_extensions(), " "));
  }
  return found;
}

}  // namespace vig::cli
