#include "vig/base/memory_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "vig/base/error.h"

namespace vig {
namespace {

[[noreturn]] void fail_in_memory(const char* what) {
  fail("a file in memory: {}: {}", what, std::generic_category().message(errno));
}

}  // namespace

MemoryFile::MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {
  if (fd_ < 0) fail_in_memory("memfd_create");
}

MemoryFile::~MemoryFile() { close(fd_); }

std::string MemoryFile::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), fd_); }

void MemoryFile::append(const void* data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t written = write(fd_, static_cast<const char*>(data) + done, bytes - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_in_memory("write");
    done += static_cast<size_t>(written);
  }
}

size_t MemoryFile::size() const {
  struct stat status = {};
  if (fstat(fd_, &status) != 0) fail_in_memory("fstat");
  return static_cast<size_t>(status.st_size);
}

std::string MemoryFile::contents(size_t limit) const {
  std::string bytes(std::min(limit, size()), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_in_memory("read");
    if (got == 0) break;  // another process has shortened it
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace vig
