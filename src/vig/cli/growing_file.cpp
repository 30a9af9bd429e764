#include "vig/cli/growing_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/mapped_file.h"
#include "vig/weights/atomic_file.h"

namespace vig::cli {
namespace {

bool is_regular(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool names_open_file(int fd, const std::string& path) {
  struct stat opened = {}, named = {};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

GrowingFile::GrowingFile(const std::string& path, bool resume)
    : path_(path), target_(behind_links(path)), partial_(partial_name(target_)) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    fail("{}: cannot be written: not a regular file", path_);
  }
  try {
    open(resume);
  } catch (...) {
    if (fd_ >= 0) ::close(fd_);
    throw;
  }
}

void GrowingFile::open(bool resume) {
  if (resume && !is_regular(partial_) && is_regular(target_)) {
    const auto old = MappedFile::open(target_);
    AtomicFile copy(partial_);
    copy.write(old->bytes().data(), old->bytes().size());
    copy.commit();
  }
  for (int attempt = 0; attempt < 100; ++attempt) {  // the name may go to another file meanwhile
    fd_ = ::open(partial_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd_ < 0) refuse();
    // Where there are no locks, jobs must not share a file.
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      fail("{}: another process writes it", partial_);
    }
    if (names_open_file(fd_, partial_)) break;
    ::close(std::exchange(fd_, -1));
  }
  struct stat status = {};
  if (fd_ < 0 || ::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
    fail("{}: cannot be written: not a regular file", partial_);
  }
  if (!resume && status.st_size > 0) {
    fail("{}: holds what an earlier run finished; add --resume to continue it, or remove it",
         partial_);
  }
  end_ = static_cast<uint64_t>(status.st_size);
}

GrowingFile::~GrowingFile() {
  if (fd_ < 0) return;
  if (end_ == 0) {
    ::unlink(partial_.c_str());
  } else if (::ftruncate(fd_, static_cast<off_t>(end_)) != 0) {
    // The next run cuts it.
  }
  ::close(fd_);
}

void GrowingFile::refuse() const { fail("{}: cannot be written: {}", path_, std::strerror(errno)); }

void GrowingFile::cut(uint64_t size) {
  if (size == end_) return;
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) refuse();
  end_ = size;
}

void GrowingFile::append(std::string_view bytes) {
  write(end_, bytes);
  end_ += bytes.size();
}

void GrowingFile::rewrite(uint64_t offset, std::string_view bytes) { write(offset, bytes); }

void GrowingFile::write(uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) refuse();
    bytes.remove_prefix(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
}

std::string GrowingFile::read(uint64_t offset, size_t bytes) const {
  std::string text(bytes, '\0');
  for (size_t at = 0; at < text.size();) {
    const ssize_t got =
        ::pread(fd_, text.data() + at, text.size() - at, static_cast<off_t>(offset + at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      fail("{}: cannot be read: {}", partial_, got == 0 ? "it ends" : std::strerror(errno));
    }
    at += static_cast<size_t>(got);
  }
  return text;
}

void GrowingFile::commit() {
  if (::fsync(fd_) != 0 || ::rename(partial_.c_str(), target_.c_str()) != 0) refuse();
  ::close(std::exchange(fd_, -1));
  flush_folder_of(target_);
}

}  // namespace vig::cli
