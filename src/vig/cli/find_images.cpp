#include "vig/cli/find_images.h"

#include <fmt/ranges.h>
#include <glob.h>

#include <filesystem>
#include <system_error>

#include "vig/base/error.h"
#include "vig/cli/image_stream.h"
#include "vig/data/folder_listing.h"
#include "vig/image/decode.h"

namespace vig::cli {
namespace {

namespace fs = std::filesystem;

// A file found in a folder: a pipe among the images could block for ever.
void add_found(const std::string& path, FoundImages& found) {
  if (is_stream(path)) {
    found.problems.push_back(
        fmt::format("{}: expected an image file, found a device or pipe", path));
  } else {
    found.files.push_back(path);
  }
}

void add_folder(const fs::path& folder, FoundImages& found) {
  const FolderListing listing = list_folder(folder);
  for (const std::string& file : listing.files) {
    const fs::path path = folder / file;
    // Some desktops leave files with an image's extension beside images.
    if (!has_image_extension(file) || path.filename().native().starts_with('.')) continue;
    add_found(path.string(), found);
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

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

}  // namespace

FoundImages find_images(const std::vector<std::string>& arguments) {
  FoundImages found;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    const bool pattern = argument.find_first_of("*?[") != std::string::npos;
    if (argument != kStandardInput && is_folder(argument)) {
      add_folder(argument, found);
      continue;
    }
    if (!pattern || fs::exists(argument, ignored)) {
      found.files.push_back(argument);
      continue;
    }
    const std::vector<std::string> paths = expand(argument);
    if (paths.empty()) {
      found.problems.push_back(
          fmt::format("{}: found no images: nothing matches the pattern", argument));
    }
    for (const std::string& path : paths) {
      if (is_folder(path)) {
        add_folder(path, found);
      } else {
        add_found(path, found);
      }
    }
  }
  if (found.files.empty()) {
    if (!found.problems.empty()) fail("{}", found.problems.front());
    fail("{}: found no images there; in folders these are files ending in {}",
         fmt::join(arguments, ", "), fmt::join(image_extensions(), " "));
  }
  return found;
}

}  // namespace vig::cli
