// A file that appears complete or not at all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vig {

// Writes into a temporary file beside the target; commit() flushes it to the disk and renames it.
// Without commit() the temporary vanishes and the target stays as it was. A target that is a
// symbolic link keeps being one. Every failure raises one sentence naming the target.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* data, size_t bytes);
  void rewrite_begin(const void* data, size_t bytes);  // over what was written first
  void commit();
  void commit_text(std::string_view text);  // writes it first

 private:
  std::string path_;       // as the caller named it, for messages
  std::string target_;     // with links resolved
  std::string temporary_;  // empty once renamed
  int fd_ = -1;
};

}  // namespace vig
