// The bytes of an image file, or of a pipe.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vig {

class ImageFile {
 public:
  // A pipe blocks until it has a writer, so it is read only if named explicitly.
  enum class Kind { kAny, kRegular };

  // Throws Error when it cannot be opened, is a directory or not of this kind.
  explicit ImageFile(const std::string& path, Kind kind = Kind::kAny);

  // Known for regular files; pipes and devices do not know theirs.
  std::optional<uint64_t> size() const { return size_; }

  // The first `size` bytes of a regular file, fewer when it became shorter. Throws Error.
  void read(std::vector<uint8_t>& bytes, uint64_t size) const;
  // Bytes of a regular file from `offset` on; fewer than `size` where it ends. Leaves the position
  // of the others alone. Throws Error.
  size_t read_at(uint64_t offset, void* out, size_t size) const;
  // All bytes of a pipe, once. Throws Error, also when there are more than `limit`.
  std::vector<uint8_t> read_stream(uint64_t limit);

 private:
  void check() const;

  const std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::optional<uint64_t> size_;
};

}  // namespace vig
