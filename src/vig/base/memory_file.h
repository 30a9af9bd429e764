// A file in memory that other processes can open by its path. However this process ends, nothing of
// it remains.
#pragma once

#include <cstddef>
#include <string>

namespace vig {

class MemoryFile {
 public:
  // `name` appears in /proc alone. Throws when the system has no memory or no descriptor left.
  explicit MemoryFile(const char* name);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }
  // For processes of the same user, for as long as this object lives.
  std::string path() const;

  void append(const void* data, size_t bytes);
  size_t size() const;
  // The first `limit` bytes.
  std::string contents(size_t limit) const;

 private:
  int fd_;
};

}  // namespace vig
