#include "vig/cli/find_pictures.h"

#include <fmt/ranges.h>
#include <glob.h>

#include <filesystem>
#include <system_error>

#include "vig/base/error.h"
#include "vig/data/folder_listing.h"
#include "vig/image/decode.h"

namespace vig::cli {
namespace {

namespace fs = std::filesystem;

void add_folder(const fs::path& folder, FoundPictures& found) {
  const FolderListing listing = list_folder(folder);
  for (const std::string& file : listing.files) {
    const fs::path path = folder / file;
    // What desktops leave beside pictures looks like one.
    if (!has_picture_extension(file) || path.filename().native().starts_with('.')) continue;
    std::error_code ignored;
    const fs::file_status status = fs::status(path, ignored);
    if (fs::exists(status) && !fs::is_regular_file(status)) {
      found.problems.push_back(
          fmt::format("{}: expected a picture file, found a device or pipe", path.string()));
    } else {
      found.files.push_back(path.string());
    }
  }
  found.problems.insert(found.problems.end(), listing.problems.begin(), listing.problems.end());
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
    add_folder(path, found);
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
