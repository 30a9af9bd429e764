// A file that appears complete or not at all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vig {

// Writes into a temporary file beside the target, TARGET.tmp-PROCESS-NUMBER; commit() flushes it to
// the disk and renames it. Without commit() the temporary vanishes and the target stays as it was.
// A target that is a symbolic link keeps being one. Every failure throws one sentence naming the
// target.
//
// The temporary is locked as long as its process lives. One without a lock was left by a process
// that was killed; the next writer of the same target removes it.
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
  // As commit(), but never over another file: false where the name is taken.
  bool commit_new();
  // For work that was stopped: the file appears as partial_name() of the target, which stays as it
  // was.
  void commit_partial();

 private:
  bool finish(const std::string& name, bool replace);

  std::string path_;       // as the caller named it, for messages
  std::string target_;     // with links resolved
  std::string temporary_;  // empty once renamed
  size_t listed_ = 0;      // its index among those that remove_temporary_files() knows
  int fd_ = -1;
};

// Where a file of this name is, or will be: the last of its links may lead to none yet.
std::string behind_links(const std::string& path);

// So that a new name in the folder of `path` survives a power cut, where folders can be flushed.
void flush_folder_of(const std::string& path);

// "vectors.npy.partial"
std::string partial_name(const std::string& path);

// Renames a file without replacing another. Gives 0, or the number of the error: EEXIST where `to`
// is taken. The file always has exactly one name afterwards.
int rename_new(const std::string& from, const std::string& to);

// Removes the temporary files of this process, for a signal handler that is about to end it: calls
// only what is allowed there.
void remove_temporary_files() noexcept;

}  // namespace vig
