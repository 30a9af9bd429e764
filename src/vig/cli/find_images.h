// Files, folders and patterns on the command line to image files.
#pragma once

#include <string>
#include <vector>

namespace vig::cli {

struct FoundImages {
  std::vector<std::string> files;
  // Folders that could not be read, pipes in them, patterns that match nothing: a sentence each.
  std::vector<std::string> problems;
};

// In the order given. A folder stands for all images below it by their extension, sorted, hidden
// ones aside; a pattern (* ? []) that names no file stands for what it matches. A file that is
// named is taken with any extension, and whether it exists shows when it is read; so is a pipe
// that is named, and "-", which is standard input. Throws when nothing is found.
FoundImages find_images(const std::vector<std::string>& arguments);

}  // namespace vig::cli
