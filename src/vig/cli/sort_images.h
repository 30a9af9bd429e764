// Images moved into a folder for each class.
#pragma once

#include <filesystem>
#include <string>

namespace vig::cli {

// What a class is called as a folder: its name without what cannot stand in a name of a file.
std::string class_folder(const std::string& name);

class ImageSorter {
 public:
  // Throws unless `folder` is a folder that can be written to, or can be made.
  explicit ImageSorter(const std::string& folder);

  // Moves a file to FOLDER/CLASS/NAME and gives its new path. Nothing is ever overwritten: where
  // the name is taken it becomes "NAME (2)", and so on. A file that is there already stays. Throws,
  // and leaves the file where it is, when that cannot be done.
  std::filesystem::path move(const std::string& file, const std::string& class_name) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace vig::cli
