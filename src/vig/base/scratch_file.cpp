#include "vig/base/scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "vig/base/error.h"

namespace vig {
namespace {

[[noreturn]] void fail_with(const std::string& folder, const char* what, int error) {
  fail("{}: {} a scratch file: {}", folder, what, std::generic_category().message(error));
}

int open_nameless(const std::string& folder) {
#ifdef O_TMPFILE
  const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  // Not every file system has them.
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
    fail_with(folder, "cannot make", errno);
#endif
  std::string name = folder + "/vig-scratch-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) fail_with(folder, "cannot make", errno);
  unlink(name.c_str());
  return named;
}

}  // namespace

ScratchFile::ScratchFile(const std::string& folder, int64_t bytes)
    : folder_(folder), fd_(open_nameless(folder)) {
  const int error = bytes == 0 ? 0 : posix_fallocate(fd_, 0, bytes);
  if (error == 0) return;
  close(fd_);
  fail("{}: no room for a scratch file of {} bytes: {}", folder, bytes,
       std::generic_category().message(error));
}

ScratchFile::~ScratchFile() { close(fd_); }

void ScratchFile::read(int64_t offset, void* to, int64_t bytes) const {
  for (auto* at = static_cast<char*>(to); bytes > 0;) {
    const ssize_t got = pread(fd_, at, static_cast<size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail_with(folder_, "cannot read", got < 0 ? errno : EIO);
    at += got;
    offset += got;
    bytes -= got;
  }
}

void ScratchFile::write(int64_t offset, const void* from, int64_t bytes) {
  for (const auto* at = static_cast<const char*>(from); bytes > 0;) {
    const ssize_t put = pwrite(fd_, at, static_cast<size_t>(bytes), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_with(folder_, "cannot write", errno);
    at += put;
    offset += put;
    bytes -= put;
  }
}

}  // namespace vig
