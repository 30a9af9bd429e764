#include "vig/weights/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "vig/base/error.h"

namespace vig {

AtomicFile::AtomicFile(const std::string& path) : path_(path), target_(path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) {
    // Renaming over a device would replace it (as root, even /dev/null).
    if (!S_ISREG(status.st_mode)) fail("{}: cannot be written: not a regular file", path);
    std::error_code ignored;
    const auto resolved = std::filesystem::canonical(path, ignored);
    if (!ignored) target_ = resolved.string();
  }
  static std::atomic<unsigned> counter{0};
  // A leftover of a killed process with our id must not block us: try the next number.
  for (int attempt = 0; attempt < 100 && fd_ < 0; ++attempt) {
    temporary_ = fmt::format("{}.tmp-{}-{}", target_, ::getpid(), counter++);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) break;
  }
  if (fd_ < 0) {
    temporary_.clear();
    fail("{}: cannot be written: {}", path_, std::strerror(errno));
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(fd_, next, std::min<size_t>(bytes, size_t{1} << 30));
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("{}: cannot be written: {}", path_, std::strerror(errno));
    }
    next += written;
    bytes -= static_cast<size_t>(written);
  }
}

void AtomicFile::rewrite_begin(const void* data, size_t bytes) {
  if (::lseek(fd_, 0, SEEK_SET) != 0)
    fail("{}: cannot be written: {}", path_, std::strerror(errno));
  write(data, bytes);
  ::lseek(fd_, 0, SEEK_END);
}

void AtomicFile::commit_text(std::string_view text) {
  write(text.data(), text.size());
  commit();
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) fail("{}: cannot be written: {}", path_, std::strerror(errno));
  const int closed = ::close(std::exchange(fd_, -1));
  if (closed != 0) fail("{}: cannot be written: {}", path_, std::strerror(errno));
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    fail("{}: cannot be written: {}", path_, std::strerror(errno));
  }
  temporary_.clear();
  // The new name itself should survive a power cut; where folders cannot be flushed, it just may
  // not.
  const auto slash = target_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : target_.substr(0, slash + 1);
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
}

}  // namespace vig
