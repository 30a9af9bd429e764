#include "vig/cli/picture_stream.h"

#include <fcntl.h>
#include <sys/poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "vig/base/error.h"
#include "vig/cli/interrupt.h"

namespace vig::cli {
namespace {

constexpr int kPatience = 100;  // milliseconds between two checks for interruption

class Stream {
 public:
  explicit Stream(const std::string& name)
      : owned_(name != kStandardInput), descriptor_(STDIN_FILENO) {
    // O_NONBLOCK: a pipe without a writer is waited for by poll(), which Ctrl-C can end.
    if (owned_) descriptor_ = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor_ < 0) fail("cannot be opened: {}", std::strerror(errno));
  }
  ~Stream() {
    if (owned_) ::close(descriptor_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // 0 at the end.
  size_t read(uint8_t* out, size_t most) {
    for (;;) {
      wait();
      const ssize_t got = ::read(descriptor_, out, most);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR && errno != EAGAIN) fail("cannot be read: {}", std::strerror(errno));
    }
  }

 private:
  void wait() {
    for (;;) {
      pollfd ready = {descriptor_, POLLIN, 0};
      const int found = ::poll(&ready, 1, kPatience);
      if (interrupted()) throw StreamInterrupted();
      if (found > 0) return;
      if (found < 0 && errno != EINTR) fail("cannot be read: {}", std::strerror(errno));
    }
  }

  const bool owned_;
  int descriptor_;
};

std::vector<uint8_t> read_stream(const std::string& name, const DecodeOptions& options) {
  constexpr size_t kBlock = size_t{1} << 16;
  // As for files: no sane coding of a picture is longer than four 16-bit channels; small ones may
  // carry profiles and thumbnails.
  const int64_t limit = std::min(options.max_pixels, int64_t{1} << 32) * 8 + (int64_t{64} << 20);
  Stream stream(name);
  std::vector<uint8_t> bytes;
  for (;;) {
    const size_t before = bytes.size();
    if (before > static_cast<uint64_t>(limit)) {
      fail("longer than the {} bytes allowed for a picture", limit);
    }
    bytes.resize(before + kBlock);
    const size_t got = stream.read(bytes.data() + before, kBlock);
    bytes.resize(before + got);
    if (got == 0) return bytes;
  }
}

}  // namespace

bool is_stream(const std::string& name) {
  if (name == kStandardInput) return true;
  struct stat status;
  return ::stat(name.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

// Until it is dropped, other streams wait.
class CommandPictures::Turn {
 public:
  Turn(const CommandPictures& pictures, size_t stream) : pictures_(pictures) {
    std::unique_lock lock(pictures_.mutex_);
    pictures_.changed_.wait(lock, [&] { return pictures_.next_ >= stream; });
  }
  ~Turn() {
    const std::lock_guard lock(pictures_.mutex_);
    ++pictures_.next_;
    pictures_.changed_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  const CommandPictures& pictures_;
};

CommandPictures::CommandPictures(std::vector<std::string> files, const DecodeOptions& options)
    : PictureFiles(std::move(files), options) {
  for (size_t i = 0; i < size(); ++i) {
    if (is_stream(path(i))) streams_.push_back(i);
  }
}

Sample CommandPictures::load(size_t sample) const {
  const auto stream = std::ranges::lower_bound(streams_, sample);
  if (stream == streams_.end() || *stream != sample) return PictureFiles::load(sample);
  const std::string name = path(sample);
  const std::string title = name == kStandardInput ? "standard input" : name;
  std::vector<uint8_t> bytes;
  try {
    const Turn turn(*this, static_cast<size_t>(stream - streams_.begin()));
    bytes = read_stream(name, options());
  } catch (const Error& error) {
    fail("{}: {}", title, error.what());
  } catch (const std::bad_alloc&) {
    fail("{}: not enough memory", title);
  }
  return {shared_image(load_image(bytes, title, options())), {}};
}

}  // namespace vig::cli
