// A file for what does not fit into memory. It has no name: however the process ends, nothing of it
// remains.
#pragma once

#include <cstdint>
#include <string>

namespace vig {

class ScratchFile {
 public:
  // Takes the space for `bytes` at once. Throws when the folder has no room for them or cannot be
  // written to.
  ScratchFile(const std::string& folder, int64_t bytes);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  // For any number of threads, each with bytes of its own. Throw where the system reports an error.
  void read(int64_t offset, void* to, int64_t bytes) const;
  void write(int64_t offset, const void* from, int64_t bytes);

 private:
  std::string folder_;
  int fd_;
};

}  // namespace vig
