// A file that exists in memory alone, for tests that open thousands of variants of one file.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace vig::test {

class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("vig-test", MFD_CLOEXEC)) {
    if (fd_ < 0) throw std::runtime_error("cannot make a file in memory");
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Opens like any other, without leaving our process.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

  void write(std::string_view bytes) {
    if (ftruncate(fd_, 0) != 0 ||
        pwrite(fd_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      throw std::runtime_error("cannot write to a file in memory");
    }
  }

 private:
  int fd_;
};

// Calls `check` with every variant of `bytes` that differs in one bit of the first `count` bytes.
template <typename Check>
void flip_every_bit(std::string bytes, size_t count, Check check) {
  for (size_t i = 0; i < count; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      const char original = bytes[i];
      bytes[i] = static_cast<char>(original ^ (1 << bit));
      check(bytes);
      bytes[i] = original;
    }
  }
}

}  // namespace vig::test
