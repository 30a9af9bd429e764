#include "vig/cli/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "vig/base/error.h"

namespace vig::cli {
namespace {

// Before each block: its length and checksum.
struct BlockHead {
  uint64_t bytes = 0, checksum = 0;
};

uint64_t checksum_of(std::string_view bytes) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

Journal::Journal(const std::string& path, const std::string& work) : path_(path) {
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd_ < 0) fail("{}: cannot be opened: {}", path_, std::strerror(errno));
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd_);
    fail("{}: another process is at this work", path_);
  }
  try {
    scan("vig: unfinished work 1\n" + work + "\n");
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

Journal::~Journal() {
  if (fd_ >= 0) ::close(fd_);
}

void Journal::scan(const std::string& header) {
  struct stat status = {};
  if (::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) fail("{}: not a file", path_);
  const auto size = static_cast<uint64_t>(status.st_size);
  end_ = header.size();
  if (size < end_ || read_at(0, end_) != header) {
    if (::ftruncate(fd_, 0) != 0) fail("{}: cannot be written: {}", path_, std::strerror(errno));
    return write(0, header);
  }
  while (size - end_ >= sizeof(BlockHead)) {
    BlockHead head;
    std::memcpy(&head, read_at(end_, sizeof head).data(), sizeof head);
    const uint64_t begin = end_ + sizeof head;
    if (head.bytes > size - begin) break;
    if (checksum_of(read_at(begin, head.bytes)) != head.checksum) break;
    blocks_.push_back({begin, head.bytes});
    end_ = begin + head.bytes;
  }
  if (::ftruncate(fd_, static_cast<off_t>(end_)) != 0) {
    fail("{}: cannot be written: {}", path_, std::strerror(errno));
  }
}

void Journal::write(uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) fail("{}: cannot be written: {}", path_, std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
}

std::string Journal::read_at(uint64_t offset, uint64_t bytes) const {
  std::string text(bytes, '\0');
  for (size_t at = 0; at < text.size();) {
    const ssize_t got =
        ::pread(fd_, text.data() + at, text.size() - at, static_cast<off_t>(offset + at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      fail("{}: cannot be read: {}", path_, got == 0 ? "it ends" : std::strerror(errno));
    at += static_cast<size_t>(got);
  }
  return text;
}

std::string Journal::read(size_t block) const {
  return read_at(blocks_.at(block).offset, blocks_.at(block).bytes);
}

std::string Journal::read(size_t block, size_t offset, size_t bytes) const {
  return read_at(blocks_.at(block).offset + offset, bytes);
}

void Journal::append(std::string_view bytes) {
  const BlockHead head{bytes.size(), checksum_of(bytes)};
  write(end_ + sizeof head, bytes);
  write(end_, {reinterpret_cast<const char*>(&head), sizeof head});
  blocks_.push_back({end_ + sizeof head, bytes.size()});
  end_ += sizeof head + bytes.size();
}

void Journal::remove() { ::unlink(path_.c_str()); }

}  // namespace vig::cli
