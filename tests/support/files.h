// Files for tests: a folder that vanishes with its scope, whole files in and out.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace vig::test {

// A new empty folder; it and its contents are removed at the end of the scope.
class TempDir {
 public:
  TempDir() : TempDir(std::filesystem::temp_directory_path()) {}
  explicit TempDir(const std::filesystem::path& parent);
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// A folder to write to on another file system than that of temporary folders; empty where this
// machine has none.
std::filesystem::path other_file_system();

// Both throw std::runtime_error naming the file. Writing makes the folders above it.
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace vig::test
