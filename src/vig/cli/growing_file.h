// A file that grows while work is done, so that work that was killed resumes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vig::cli {

// Bytes go to FILE.partial at once; commit() flushes it to the disk and renames it to FILE. A FILE
// that is a symbolic link keeps being one. Every failure throws one sentence naming FILE.
class GrowingFile {
 public:
  // `resume`: continues FILE.partial, else a copy of FILE, else a new file. Otherwise throws Error
  // where FILE.partial holds something. Throws Error where another process writes it.
  GrowingFile(const std::string& path, bool resume);
  // Keeps FILE.partial as far as it was appended to, unless it is empty.
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  const std::string& path() const { return path_; }
  const std::string& partial() const { return partial_; }
  uint64_t size() const { return end_; }

  void cut(uint64_t size);  // to its first bytes
  void append(std::string_view bytes);
  void rewrite(uint64_t offset, std::string_view bytes);
  std::string read(uint64_t offset, size_t bytes) const;
  void commit();

 private:
  void open(bool resume);
  void write(uint64_t offset, std::string_view bytes);
  [[noreturn]] void refuse() const;  // by errno

  std::string path_, target_, partial_;
  int fd_ = -1;
  uint64_t end_ = 0;
};

}  // namespace vig::cli
