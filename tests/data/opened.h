// Reading archives back.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/archive_bytes.h"
#include "support/files.h"
#include "vig/data/archive.h"
#include "vig/data/archive_formats.h"

namespace vig::test {

inline std::string read_text(const Archive& archive, size_t file) {
  std::vector<uint8_t> scratch;
  const auto bytes = archive.read(file, scratch);
  return {bytes.begin(), bytes.end()};
}

inline Files read_all(const Archive& archive) {
  Files files;
  for (size_t i = 0; i < archive.files().size(); ++i) {
    files[archive.files()[i]] = read_text(archive, i);
  }
  return files;
}

inline ArchiveBytes in_memory(std::string_view bytes) {
  return {nullptr, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}};
}

// Writes the bytes to a file, opens it and reads everything.
class OpenBytes {
 public:
  Files operator()(std::string_view bytes, const ArchiveOptions& options = {}) const {
    return read_all(*open(bytes, options));
  }
  std::shared_ptr<const Archive> open(std::string_view bytes,
                                      const ArchiveOptions& options = {}) const {
    write_file(path(), bytes);
    return open_archive(path(), options);
  }
  std::string path() const { return (dir_ / "data.bin").string(); }

 private:
  TempDir dir_;
};

}  // namespace vig::test
