// Opening files by names from outside. A name may belong to a folder, a pipe without a writer or a
// device without end: none of them is waited for or read.
#pragma once

#include <cstddef>
#include <string>

namespace vig {

// A regular file, open for reading.
class RegularFile {
 public:
  // Throws one sentence that begins with `path` when the file is absent, unreadable or not regular.
  // Never waits for the other end of a pipe.
  explicit RegularFile(const std::string& path);
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;
  ~RegularFile();

  int descriptor() const { return descriptor_; }
  size_t size() const { return size_; }  // when it was opened

 private:
  int descriptor_ = -1;
  size_t size_ = 0;
};

// The whole file, read and not mapped, so that a file that shrinks meanwhile is only shorter.
// Throws as RegularFile does, and before reading when the file is larger than `most` bytes.
std::string read_regular_file(const std::string& path, size_t most);

}  // namespace vig
