#include "vig/cli/find_images.h"

#include <fmt/ranges.h>
#include <glob.h>

#include <filesystem>
#include <system_error>

#include "vig/base/error.h"
#include "vig/cli/image_stream.h"
#include "vig/data/folder_listing.h"
#include "vig/data/shards.h"
#include "vig/image/decode.h"

namespace vig::cli {
namespace {

namespace fs = std::filesystem;

// A file found in a folder or by a pattern: a pipe among the images could block for ever.
void add_found(std::string path, EntryKind kind, FoundImages& found) {
  if (kind == EntryKind::kOther) {
    found.problems.push_back(
        fmt::format("{}: expected an image file, found a device or pipe", path));
    return;
  }
  found.files.push_back(std::move(path));
  found.origins.push_back(
      {kind == EntryKind::kFile ? ImageOrigin::kListed : ImageOrigin::kNamed, 0});
}

void add_folder(const fs::path& folder, FoundImages& found) {
  const FolderListing listing = list_folder(folder);
  const std::string start = (folder / "").string();
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string& file = listing.files[i];
    // Some desktops leave files with an image's extension beside images.
    const bool hidden = file[file.rfind('/') + 1] == '.';  // npos + 1 is 0
    if (has_image_extension(file) && !hidden) add_found(start + file, listing.kinds[i], found);
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

void add_shards(const std::vector<std::string>& shards, FoundImages& found) {
  const auto archive = std::make_shared<const ShardArchive>(shards);
  const auto number = static_cast<uint32_t>(found.archives.size());
  for (size_t i = 0; i < archive->files().size(); ++i) {
    found.files.push_back(archive->file_path(i));
    found.origins.push_back({number, static_cast<uint32_t>(i)});
  }
  found.archives.push_back(archive);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace

FoundImages find_images(const std::vector<std::string>& arguments, bool shards) {
  FoundImages found;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    if (shards) {
      const std::vector<std::string> named = argument.ends_with(".tar") && is_file(argument)
                                                 ? std::vector<std::string>{argument}
                                                 : find_shards(argument);
      if (!named.empty()) {
        add_shards(named, found);
        continue;
      }
    }
    const bool pattern = argument.find_first_of("*?[") != std::string::npos;
    if (argument != kStandardInput && is_folder(argument)) {
      add_folder(argument, found);
      continue;
    }
    if (!pattern || fs::exists(argument, ignored)) {
      found.files.push_back(argument);
      found.origins.emplace_back();
      continue;
    }
    const std::vector<std::string> paths = expand(argument);
    if (paths.empty()) {
      found.problems.push_back(
          fmt::format("{}: found no images: nothing matches the pattern", argument));
    }
    for (const std::string& path : paths) {
      if (shards && path.ends_with(".tar") && is_file(path)) {
        add_shards({path}, found);
      } else if (is_folder(path)) {
        add_folder(path, found);
      } else {
        add_found(path, is_stream(path) ? EntryKind::kOther : EntryKind::kUnknown, found);
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
