#include "vig/image/image_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "vig/base/error.h"

namespace vig {

ImageFile::ImageFile(const std::string& path, Kind kind)
    : path_(path), file_(nullptr, std::fclose) {
  const int wait = kind == Kind::kAny ? 0 : O_NONBLOCK;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | wait);
  if (descriptor >= 0) {
    file_.reset(::fdopen(descriptor, "rb"));
    if (file_ == nullptr) ::close(descriptor);
  }
  struct stat status;
  if (file_ == nullptr || ::fstat(descriptor, &status) != 0) {
    fail("{}: cannot open the image: {}", path, std::generic_category().message(errno));
  }
  // Opening a directory succeeds and only reading it fails.
  if (S_ISDIR(status.st_mode)) fail("{}: a directory, expected an image file", path);
  if (S_ISREG(status.st_mode)) {
    size_ = static_cast<uint64_t>(status.st_size);
  } else if (kind == Kind::kRegular) {
    fail("{}: expected a regular file, found a device or pipe", path);
  }
}

void ImageFile::check() const {
  if (std::ferror(file_.get())) {
    fail("{}: cannot read the image: {}", path_, std::generic_category().message(errno));
  }
}

void ImageFile::read(std::vector<uint8_t>& bytes, uint64_t size) const {
  bytes.resize(size);
  bytes.resize(read_at(0, bytes.data(), size));
}

size_t ImageFile::read_at(uint64_t offset, void* out, size_t size) const {
  size_t got = 0;
  while (got < size && offset + got < *size_) {
    const ssize_t count = ::pread(::fileno(file_.get()), static_cast<uint8_t*>(out) + got,
                                  size - got, static_cast<off_t>(offset + got));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      fail("{}: cannot read the image: {}", path_, std::generic_category().message(errno));
    }
    if (count == 0) break;
    got += static_cast<size_t>(count);
  }
  return got;
}

std::vector<uint8_t> ImageFile::read_stream(uint64_t limit) {
  constexpr size_t kBlock = size_t{1} << 20;
  std::vector<uint8_t> bytes;
  for (size_t got = 1; got > 0;) {
    const size_t before = bytes.size();
    if (before > limit)
      fail("{}: longer than the {} bytes allowed for an image file (raise it with --max-pixels)",
           path_, limit);
    bytes.resize(before + kBlock);
    got = std::fread(bytes.data() + before, 1, kBlock, file_.get());
    bytes.resize(before + got);
  }
  check();
  return bytes;
}

}  // namespace vig
