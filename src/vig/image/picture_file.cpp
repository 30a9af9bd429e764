#include "vig/image/picture_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "vig/base/error.h"

namespace vig {

PictureFile::PictureFile(const std::string& path) : path_(path), file_(nullptr, std::fclose) {
  errno = 0;
  file_.reset(std::fopen(path.c_str(), "rbe"));
  struct stat status;
  if (file_ == nullptr || ::fstat(::fileno(file_.get()), &status) != 0) {
    fail("{}: cannot open the picture: {}", path, std::generic_category().message(errno));
  }
  // Opening a directory succeeds and only reading it fails.
  if (S_ISDIR(status.st_mode)) fail("{}: a directory, expected a picture file", path);
  if (S_ISREG(status.st_mode)) size_ = static_cast<uint64_t>(status.st_size);
}

void PictureFile::check() const {
  if (std::ferror(file_.get())) {
    fail("{}: cannot read the picture: {}", path_, std::generic_category().message(errno));
  }
}

void PictureFile::read(std::vector<uint8_t>& bytes, uint64_t size) {
  std::rewind(file_.get());
  bytes.resize(size);
  bytes.resize(std::fread(bytes.data(), 1, size, file_.get()));
  check();
}

std::vector<uint8_t> PictureFile::read_stream(uint64_t limit) {
  constexpr size_t kBlock = size_t{1} << 20;
  std::vector<uint8_t> bytes;
  for (size_t got = kBlock; got == kBlock;) {
    const size_t before = bytes.size();
    if (before > limit)
      fail("{}: longer than the {} bytes allowed for a picture file", path_, limit);
    bytes.resize(before + kBlock);
    got = std::fread(bytes.data() + before, 1, kBlock, file_.get());
    bytes.resize(before + got);
  }
  check();
  return bytes;
}

}  // namespace vig
