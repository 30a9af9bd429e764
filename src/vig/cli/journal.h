// Results of long work, kept as they come, so that the same command continues after Ctrl-C.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vig::cli {

// A file of blocks. A block that was being written when the program ended is dropped.
class Journal {
 public:
  // Opens the file where an earlier run with the same `work`, a line that says all that decides on
  // the result, left it; otherwise begins a new one. Throws Error where another process has it.
  Journal(const std::string& path, const std::string& work);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::string& path() const { return path_; }
  size_t blocks() const { return blocks_.size(); }
  std::string read(size_t block) const;
  std::string read(size_t block, size_t offset, size_t bytes) const;  // a part of it
  void append(std::string_view bytes);
  // The work is done.
  void remove();

 private:
  struct Block {
    uint64_t offset = 0, bytes = 0;
  };

  void scan(const std::string& header);
  void write(uint64_t offset, std::string_view bytes);
  std::string read_at(uint64_t offset, uint64_t bytes) const;

  std::string path_;
  int fd_ = -1;
  uint64_t end_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace vig::cli
