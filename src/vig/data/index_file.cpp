#include "vig/data/index_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "vig/base/error.h"
#include "vig/base/random.h"
#include "vig/base/regular_file.h"

namespace vig {
namespace {

constexpr size_t kMaxIndexBytes = size_t{1} << 30;

}  // namespace

void IndexWriter::write(const std::string& path) {
  put(hash_name(text_));
  static std::atomic<unsigned> counter{0};
  const std::string temporary = fmt::format("{}.tmp-{}-{}", path, ::getpid(), counter++);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return;
  bool good = true;
  for (std::string_view rest = text_; good && !rest.empty();) {
    const ssize_t put = ::write(fd, rest.data(), rest.size());
    if (put < 0 && errno == EINTR) continue;
    good = put > 0;
    if (good) rest.remove_prefix(static_cast<size_t>(put));
  }
  good = ::close(fd) == 0 && good;
  if (!good || ::rename(temporary.c_str(), path.c_str()) != 0) ::unlink(temporary.c_str());
}

std::optional<IndexReader> IndexReader::open(const std::string& path, std::string_view magic) {
  std::string text;
  try {
    text = read_regular_file(path, kMaxIndexBytes);
  } catch (const Error&) {
    return std::nullopt;
  }
  uint64_t checksum = 0;
  if (!text.starts_with(magic) || text.size() < magic.size() + sizeof checksum) {
    return std::nullopt;
  }
  const size_t end = text.size() - sizeof checksum;
  std::memcpy(&checksum, text.data() + end, sizeof checksum);
  text.erase(end);
  if (hash_name(text) != checksum) return std::nullopt;
  return IndexReader(std::move(text), magic.size());
}

}  // namespace vig
