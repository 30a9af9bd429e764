#include "vig/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "vig/base/error.h"

namespace vig {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) fail("{}: cannot be opened: {}", path, std::strerror(errno));
  struct stat status;
  if (::fstat(file.fd, &status) != 0) fail("{}: cannot be read: {}", path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail("{}: expected a file, found a folder", path);
  if (!S_ISREG(status.st_mode)) fail("{}: expected a regular file, found a device or pipe", path);

  const size_t size = static_cast<size_t>(status.st_size);
  void* data = nullptr;
  if (size > 0) {  // mmap refuses an empty range
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED) fail("{}: cannot be mapped: {}", path, std::strerror(errno));
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, static_cast<const unsigned char*>(data), size));
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<unsigned char*>(data_), size_);
}

}  // namespace vig
