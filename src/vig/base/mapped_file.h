// A file's bytes, mapped read-only and shared: pages are read when touched and belong to the page
// cache, so several processes running one model hold it once.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace vig {

// The file itself is closed as soon as it is mapped. Replacing it by rename (as our writers do)
// leaves the mapping intact; a program that truncates a mapped file in place breaks its readers,
// here as everywhere.
class MappedFile {
 public:
  // Throws when the file is absent, unreadable or not a regular file. An empty file is fine.
  static std::shared_ptr<const MappedFile> open(const std::string& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const unsigned char> bytes() const { return {data_, size_}; }
  // Pages that were touched no longer count as memory of this process; they stay readable.
  void release_pages() const;

 private:
  MappedFile(std::string path, const unsigned char* data, size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}

  std::string path_;
  const unsigned char* data_;
  size_t size_;
};

}  // namespace vig
