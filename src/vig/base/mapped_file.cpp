#include "vig/base/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "vig/base/error.h"
#include "vig/base/regular_file.h"

namespace vig {

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  const RegularFile file(path);
  const size_t size = file.size();
  void* data = nullptr;
  if (size > 0) {  // mmap refuses an empty range
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (data == MAP_FAILED) fail("{}: cannot be mapped: {}", path, std::strerror(errno));
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, static_cast<const unsigned char*>(data), size));
}

void MappedFile::release_pages() const {
  if (size_ > 0) ::madvise(const_cast<unsigned char*>(data_), size_, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<unsigned char*>(data_), size_);
}

}  // namespace vig
