#include "vig/base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "vig/base/error.h"

namespace vig {

RegularFile::RegularFile(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer. O_NOCTTY: a terminal stays whose it is.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) fail("{}: cannot be opened: {}", path, std::strerror(errno));
  try {
    struct stat status;
    if (::fstat(descriptor_, &status) != 0) {
      fail("{}: cannot be read: {}", path, std::strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) fail("{}: expected a file, found a folder", path);
    if (!S_ISREG(status.st_mode)) {
      fail("{}: expected a regular file, found a device or pipe", path);
    }
    size_ = static_cast<size_t>(status.st_size);
  } catch (...) {  // no destructor runs for an object whose constructor throws
    ::close(descriptor_);
    throw;
  }
}

RegularFile::~RegularFile() { ::close(descriptor_); }

std::string read_regular_file(const std::string& path, size_t most) {
  const RegularFile file(path);
  if (file.size() > most) {
    fail("{}: expected at most {} bytes (a fixed limit), found {}", path, most, file.size());
  }
  // Files of /proc claim no size, and any file may grow meanwhile: read until the end, but never
  // more than one byte above the limit.
  std::string bytes;
  while (true) {
    const size_t before = bytes.size();
    const size_t wanted = before < file.size() ? file.size() + 1 : 2 * before + 4096;
    bytes.resize(std::min(wanted, most + 1));
    const ssize_t count = ::read(file.descriptor(), bytes.data() + before, bytes.size() - before);
    if (count < 0 && errno != EINTR) fail("{}: cannot be read: {}", path, std::strerror(errno));
    bytes.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return bytes;
    if (bytes.size() > most)
      fail("{}: expected at most {} bytes (a fixed limit), found more", path, most);
  }
}

}  // namespace vig
