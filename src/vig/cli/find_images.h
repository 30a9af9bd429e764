// Files, folders and patterns on the command line to image files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vig/data/archive.h"

namespace vig::cli {

// Where an image comes from. What was listed is a regular file and no link; what was named may be
// anything.
struct ImageOrigin {
  static constexpr uint32_t kNamed = UINT32_MAX, kListed = UINT32_MAX - 1;

  uint32_t archive = kNamed;  // or its number in FoundImages::archives
  uint32_t member = 0;        // of the archive

  bool in_archive() const { return archive < kListed; }
};

struct FoundImages {
  std::vector<std::string> files;
  std::vector<ImageOrigin> origins;  // of each file
  std::vector<std::shared_ptr<const Archive>> archives;
  // Folders that could not be read, pipes in them, patterns that match nothing: a sentence each.
  std::vector<std::string> problems;
};

// In the order given. A folder stands for all images below it by their extension, sorted, hidden
// ones aside; a pattern (* ? []) that names no file stands for what it matches. A file that is
// named is taken with any extension, and whether it exists shows when it is read; so is a pipe
// that is named, and "-", which is standard input. With `shards`, a .tar file stands for the images
// in it, as do the shards that an argument names (data/shards.h). Throws when nothing is found.
FoundImages find_images(const std::vector<std::string>& arguments, bool shards = false);

}  // namespace vig::cli
