#include "vig/cli/image_stream.h"

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
#include "vig/image/decode.h"

namespace vig::cli {
namespace {

constexpr int kPatience = 100;  // milliseconds between two checks for interruption

class Stream {
 public:
  // `title` stands for it in messages.
  Stream(const std::string& name, std::string title)
      : owned_(name != kStandardInput), descriptor_(STDIN_FILENO), title_(std::move(title)) {
    // O_NONBLOCK: a pipe without a writer is waited for by poll(), which Ctrl-C can end.
    if (owned_) descriptor_ = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor_ < 0) fail("{}: cannot be opened: {}", title_, std::strerror(errno));
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
      if (errno != EINTR && errno != EAGAIN) refuse();
    }
  }

 private:
  void wait() {
    for (;;) {
      pollfd ready = {descriptor_, POLLIN, 0};
      const int found = ::poll(&ready, 1, kPatience);
      if (interrupted()) throw StreamInterrupted();
      if (found > 0) return;
      if (found < 0 && errno != EINTR) refuse();
    }
  }
  [[noreturn]] void refuse() const { fail("{}: cannot be read: {}", title_, std::strerror(errno)); }

  const bool owned_;
  int descriptor_;
  const std::string title_;
};

// Of a stream without end no more is read than shows that it is no image.
std::vector<uint8_t> read_stream(const std::string& name, const std::string& title,
                                 const DecodeOptions& options) {
  constexpr size_t kBlock = size_t{1} << 16, kStart = 64, kLarge = size_t{64} << 20;
  const uint64_t limit = max_file_bytes(options);
  Stream stream(name, title);
  std::vector<uint8_t> bytes;
  for (;;) {
    const size_t before = bytes.size();
    if (before > limit)
      fail("{}: longer than the {} bytes allowed for an image (raise it with --max-pixels)", title,
           limit);
    // Growing by doubling would take the limit twice.
    if (before > kLarge) bytes.reserve(limit + 2 * kBlock);
    bytes.resize(before + kBlock);
    const size_t got = stream.read(bytes.data() + before, kBlock);
    bytes.resize(before + got);
    if (got == 0) return bytes;
    if (before < kStart && bytes.size() >= kStart) check_signature(bytes, title);
  }
}

}  // namespace

bool is_stream(const std::string& name) {
  if (name == kStandardInput) return true;
  struct stat status;
  return ::stat(name.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

// Until it is dropped, other streams wait.
class CommandImages::Turn {
 public:
  Turn(const CommandImages& images, size_t stream) : images_(images) {
    std::unique_lock lock(images_.mutex_);
    images_.changed_.wait(lock, [&] { return images_.next_ >= stream; });
  }
  ~Turn() {
    const std::lock_guard lock(images_.mutex_);
    ++images_.next_;
    images_.changed_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  const CommandImages& images_;
};

CommandImages::CommandImages(std::vector<std::string> files,
                             const std::vector<ImageOrigin>& origins,
                             const std::vector<std::shared_ptr<const Archive>>& archives,
                             const DecodeOptions& options)
    : ImageFiles(std::move(files), options) {
  if (!archives.empty()) origins_ = origins;
  for (const auto& archive : archives) {
    archives_.push_back(std::make_unique<const ImageStore>(archive, options, 0));
  }
  for (size_t i = 0; i < size(); ++i) {
    if (origins[i].archive == ImageOrigin::kNamed && is_stream(path(i))) streams_.push_back(i);
  }
}

Sample CommandImages::load(size_t sample) const {
  if (!origins_.empty() && origins_[sample].in_archive()) {
    return {archives_[origins_[sample].archive]->decode(origins_[sample].member), {}};
  }
  const auto stream = std::ranges::lower_bound(streams_, sample);
  if (stream == streams_.end() || *stream != sample) return ImageFiles::load(sample);
  const std::string name = path(sample);
  const std::string title = name == kStandardInput ? "standard input" : name;
  std::vector<uint8_t> bytes;
  try {
    const Turn turn(*this, static_cast<size_t>(stream - streams_.begin()));
    bytes = read_stream(name, title, options());
  } catch (const std::bad_alloc&) {
    fail("{}: not enough memory", title);
  }
  return {shared_image(load_image(bytes, title, options())), {}};
}

}  // namespace vig::cli
